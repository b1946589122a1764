"""The shapes written in the signatures hold: the model runs with every annotation checked (jaxtyping, beartype)."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

SETTINGS = [
    "",
    "'norm': 'pre', 'attention_bias': True",
    "'reading': 't2t-2017', 'tying': 'none'",
    "'positions': 'learned', 'd_k': 3, 'd_v': 7, 'tying': 'decoder'",
    "'dropout': 0.2, 'attention_dropout': 0.1, 'ffn_dropout': 0.1, 'initialisation': 'glorot'",
]
RUN = """
    from jaxtyping import install_import_hook

    with install_import_hook("nmt_cli.model", "beartype.beartype"):
        import torch
        from nmt_cli.config import ModelConfig
        from nmt_cli.model.initialisation import initialise
        from nmt_cli.model.loss import summed_loss
        from nmt_cli.model.packing import Spans, Tokens, one_sentence_at_a_time
        from nmt_cli.model.transformer import Transformer

    config = ModelConfig.model_validate({
        "n_encoder_layers": 2, "n_decoder_layers": 1, "d_model": 16, "d_ff": 24, "n_heads": 4, "dropout": 0.0, SETTINGS
    })
    model = Transformer(config, source_vocab_size=30, target_vocab_size=30 if config.tying == "three-way" else 41)
    initialise(model, seed=1)
    source = torch.tensor([[5, 9, 12, 1, 4], [8, 1, 0, 0, 0], [3, 3, 1, 0, 0]])
    target_in = torch.tensor([[0, 7, 20], [0, 13, 4], [0, 0, 0]])
    for sources, targets in ((source, target_in), (source[:1], target_in[:1]), (source[:, :1], target_in[:, :1])):
        states = model(sources, targets)
        assert model.logits(states).shape == (*targets.shape, model.output.weight.size(0))
        assert model.logits(states[:, -1]).shape == (len(targets), model.output.weight.size(0))
        flat = states.flatten(0, 1)
        summed_loss(flat, model.output.weight, torch.ones(len(flat), dtype=torch.int64), smoothing=0.1)[0].backward()
    source = Tokens(torch.tensor([5, 1, 8]), torch.tensor([0, 1, 0]), Spans(torch.tensor([0, 2, 3]).int(), 2))
    target_in = Tokens(torch.tensor([0, 0, 13]), torch.tensor([0, 0, 1]), Spans(torch.tensor([0, 1, 3]).int(), 2))
    if not config.attention_dropout:
        assert model.forward_packed(source, target_in, one_sentence_at_a_time).shape == (3, 16)
"""


def checked(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_shape_in_a_signature_is_the_shape_at_run_time(settings: str) -> None:
    done = checked(RUN.replace("SETTINGS", settings))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "wrong",
    [
        "model.decode(targets, model.encode(sources)[:0], sources != 0)",
        "model.forward_packed(source._replace(ids=source.ids[:2]), target_in, one_sentence_at_a_time)",
    ],
)
def test_the_checker_sees_a_wrong_shape(wrong: str) -> None:
    done = checked(RUN.replace("SETTINGS", "") + f"    {wrong}\n")
    assert done.returncode == 1
    assert "TypeCheckError" in done.stderr
