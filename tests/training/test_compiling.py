"""Compiled layers compute the same, and where nothing can be compiled training goes on without."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from nmt_cli.batches.packing import pack
from nmt_cli.batches.padding import Batch
from nmt_cli.config import ModelConfig
from nmt_cli.model.initialisation import initialise
from nmt_cli.model.packing import one_sentence_at_a_time
from nmt_cli.model.transformer import Transformer
from nmt_cli.training import compiling, gradient, loop
from nmt_cli.training.compiling import compile_layers
from nmt_cli.training.gradient import batch_loss
from nmt_cli.training.packed_loss import packed_loss

V = 30
# While it compiles, torch warns of its own use of torch.
torch_compiles = pytest.mark.filterwarnings("ignore")


def make_model(**changes: object) -> Transformer:
    values = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 16, "d_ff": 24, "n_heads": 2, "dropout": 0.0}
    model = Transformer(ModelConfig.model_validate(values | changes), source_vocab_size=V, target_vocab_size=V)
    initialise(model, seed=1)
    return model.train()


def a_batch(n_pairs: int, source_length: int, target_length: int) -> Batch:
    generator = np.random.default_rng(n_pairs)
    source = generator.integers(3, V, size=(n_pairs, source_length))
    target_out = generator.integers(3, V, size=(n_pairs, target_length))
    source[0, 2:] = target_out[-1, 3:] = 0
    target_in = np.where(target_out == 0, 0, np.pad(target_out[:, :-1], ((0, 0), (1, 0))))
    return Batch(source, target_in, target_out)


BATCHES = [a_batch(3, 8, 6), a_batch(5, 4, 9), a_batch(2, 9, 4)]  # none of as many tokens as d_model


def loss_and_gradient(model: Transformer, batch: Batch) -> tuple[float, Tensor]:
    loss = batch_loss(model, batch, smoothing=0.1).smoothed
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return loss.item(), torch.cat([one.flatten() for one in gradients])


def assert_same_function(model: Transformer, other: Transformer) -> None:
    for batch in BATCHES:
        (loss, gradients), (other_loss, other_gradients) = (loss_and_gradient(one, batch) for one in (model, other))
        assert loss == pytest.approx(other_loss, rel=1e-6)
        assert float((gradients - other_gradients).norm() / other_gradients.norm()) < 1e-6


class Compiler:
    """Stands in for torch.compile: notes what it is asked for, and gives calls back as they are, or failing."""

    def __init__(self, error: Exception | None = None) -> None:
        """Fail with this error, if any."""
        self.error = error
        self.asked: list[tuple[str, dict[str, object]]] = []

    def __call__(self, call: Callable[..., object], **how: object) -> Callable[..., object]:
        self.asked.append((type(call.__self__).__name__, how))

        def fails(*_arguments: object) -> object:
            raise self.error

        return fails if self.error else call


@pytest.mark.parametrize("kernel", [None, one_sentence_at_a_time])
def test_each_layer_is_compiled_in_place_for_any_length(
    kernel: object, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    compiler, warnings = Compiler(), list[str]()
    monkeypatch.setattr(torch, "compile", compiler)
    for module in (compiling, gradient):
        monkeypatch.setattr(module, "kernel_for", lambda _model: kernel)
    model = make_model()
    names, state = [name for name, _ in model.named_parameters()], torch.get_rng_state()
    compile_layers(model, warnings.append)
    assert torch.equal(torch.get_rng_state(), state)
    assert [name for name, _ in model.named_parameters()] == names
    assert all(parameter.grad is None for parameter in model.parameters())
    spare, layers = compiler.asked[:2], compiler.asked[2:]
    assert [name for name, _ in spare] == ["EncoderLayer", "DecoderLayer"]
    assert [name for name, _ in layers] == ["EncoderLayer"] * 2 + ["DecoderLayer"] * 2
    assert all(how == {"dynamic": True} for _, how in compiler.asked)
    assert_same_function(model, make_model())
    assert warnings == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "error", [RuntimeError("No compiler\n\nSet X for more"), ImportError("No compiler"), OSError("No compiler")]
)
def test_where_compiling_fails_one_line_says_so_and_the_layers_stay_as_they_are(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, warnings = Compiler(error), list[str]()
    monkeypatch.setattr(torch, "compile", compiler)
    model = make_model(dropout=0.1)
    state = torch.get_rng_state()
    compile_layers(model, warnings.append)
    assert torch.equal(torch.get_rng_state(), state)
    [line] = warnings
    assert line == (
        "machine.compile: torch.compile does not work here, the layers run uncompiled "
        f"({type(error).__name__}: No compiler)"
    )
    assert_same_function(model.eval(), make_model())


def every_query_sees_itself(query: Tensor, key: Tensor, value: Tensor, *_spans: object, causal: bool) -> Tensor:
    return query + value.mean() * key.sum() if causal else query


@torch_compiles
@pytest.mark.slow
@pytest.mark.parametrize("kernel", [None, every_query_sees_itself])
def test_a_layer_is_one_graph_dropout_included_for_any_length(kernel: object) -> None:
    torch.compiler.reset()
    model, graphs = make_model(dropout=0.1, ffn_dropout=0.1), list[object]()

    def as_it_is(graph: torch.fx.GraphModule, _inputs: object) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    for layer in (*model.encoder_layers, *model.decoder_layers):
        layer.compile(dynamic=True, fullgraph=True, backend=as_it_is)
    for batch in BATCHES:
        if kernel is None:
            batch_loss(model, batch, smoothing=0.1).smoothed.backward()
        else:
            packed_loss(model, pack(batch), kernel, smoothing=0.1).smoothed.backward()
    assert len(graphs) == 2  # one an encoder layer, one a decoder layer
    torch.compiler.reset()


@torch_compiles
@pytest.mark.slow
@pytest.mark.timeout(1200)  # a C++ compiler on a busy machine
@pytest.mark.parametrize("changes", [{}, {"reading": "t2t-2017", "norm": "pre", "d_k": 3, "d_v": 9}])
def test_compiled_layers_give_the_loss_and_the_gradient_of_the_layers_as_they_are(
    changes: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch.compiler.reset()
    warnings = list[str]()
    model = make_model(**changes)
    compile_layers(model, warnings.append)
    assert warnings == []
    assert list(tmp_path.rglob("*.so"))
    assert_same_function(model, make_model(**changes))
    torch.compiler.reset()


class PowerCutError(Exception):
    """Stands for whatever ends a process."""


@torch_compiles
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_compiled_run_cut_off_and_continued_ends_with_the_same_bits(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    settings = ["machine.compile=true", "training.max_steps=10", "training.validate_every_steps=4"]
    advanced = loop.advanced

    def cut_off(progress: Any, *arguments: Any, **others: Any) -> Any:  # noqa: ANN401
        if progress.step == 7:
            raise PowerCutError
        return advanced(progress, *arguments, **others)

    torch.compiler.reset()
    toy.train(tmp_path / "whole", *settings)
    torch.compiler.reset()  # as in another process
    monkeypatch.setattr(loop, "advanced", cut_off)
    with pytest.raises(PowerCutError):
        toy.train(tmp_path / "run", *settings)
    monkeypatch.setattr(loop, "advanced", advanced)
    torch.compiler.reset()
    toy.train(tmp_path / "run", *settings)
    torch.compiler.reset()
    for name in ("weights.safetensors", "training/optimizer.safetensors"):
        assert (tmp_path / "run" / "last" / name).read_bytes() == (tmp_path / "whole" / "last" / name).read_bytes()
    assert not any("machine.compile" in line for line in toy.log(tmp_path / "whole"))


WITHOUT_A_COMPILER = """
    import sys
    import torch
    from nmt_cli.config import ModelConfig
    from nmt_cli.model.initialisation import initialise
    from nmt_cli.model.transformer import Transformer
    from nmt_cli.training.compiling import compile_layers

    values = {"n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 16, "d_ff": 24, "n_heads": 2, "dropout": 0.1}
    model = Transformer(ModelConfig.model_validate(values), source_vocab_size=9, target_vocab_size=9)
    initialise(model, seed=1)
    compile_layers(model.train(), lambda line: print(line, file=sys.stderr))
    ids = torch.tensor([[3, 4, 1], [5, 1, 0]])
    model(ids, ids).sum().backward()
    print("trained")
"""


@pytest.mark.slow
def test_without_a_compiler_training_goes_on_after_one_line(tmp_path: Path) -> None:
    environment = os.environ | {"CXX": str(tmp_path / "g++"), "PATH": "", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    program = [sys.executable, "-c", textwrap.dedent(WITHOUT_A_COMPILER)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    [line] = done.stderr.splitlines()
    assert line.startswith("machine.compile: torch.compile does not work here, the layers run uncompiled (")
    assert "compiler" in line
