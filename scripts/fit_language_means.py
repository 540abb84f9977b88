"""Fits the language means of an embedding model on parallel text, and shows what they are worth.

    python scripts/fit_language_means.py [--model NAME_OR_FOLDER] [--text FOLDER] [--out FILE]

The text is a folder of `LANG.jsonl` files with the same paragraphs and questions in every language
(one paragraph a line: `{"text": ..., "questions": [...]}`). Without `--out`, the file goes where
the package looks for it. A person with a model of their own writes it into the model's folder as
`language-means.npz`. Nothing of the text is stored, only one mean vector a language and side.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

from sidelight.errors import SidelightError
from sidelight.models.embedder import Embedder
from sidelight.models.means import DATA, FILE, LanguageMeans, save_means
from sidelight.models.registry import load_embedder

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SIDELIGHT_SHARED") or ROOT.parent / "shared")


def main() -> int:
    arguments = _arguments()
    try:
        embedder = load_embedder(arguments.model)
        passages, questions, answers = _vectors(embedder, arguments.text)
    except SidelightError as error:
        print(error, file=sys.stderr)
        return 1
    except FileNotFoundError as error:
        print(f"There is no parallel text at {error.filename}.", file=sys.stderr)
        return 1
    languages = sorted(passages)
    tables = [np.stack([_mean(side[code]) for code in languages]) for side in (passages, questions)]
    out = arguments.out or DATA / f"{embedder.name}.{FILE}"
    save_means(out, languages, *tables)
    print(f"{out}: {len(languages)} languages, {out.stat().st_size / 1000:.0f} kB")
    means = LanguageMeans(languages, *tables)
    _report(passages, questions, answers, means)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="", help="name or folder; default: the default model")
    parser.add_argument("--text", type=Path, default=SHARED / "language-fit")
    parser.add_argument("--out", type=Path, help="default: the package's own data file")
    return parser.parse_args()


Sides = dict[str, np.ndarray]


def _vectors(embedder: Embedder, folder: Path) -> tuple[Sides, Sides, list[int]]:
    """Vectors by language of paragraphs and questions, and each question's paragraph."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise FileNotFoundError(2, "no such text", str(folder))
    passages, questions, answers = {}, {}, []
    for file in files:
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        passages[file.stem] = embedder.embed_passages([row["text"] for row in rows])
        asked = [(at, q) for at, row in enumerate(rows) for q in row["questions"]]
        questions[file.stem] = np.stack([embedder.embed_query(_text(q)) for _, q in asked])
        answers = [at for at, _ in asked]
    return passages, questions, answers


def _text(question: str | dict[str, str]) -> str:
    return question if isinstance(question, str) else question["question"]


def _mean(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors.astype(np.float64).mean(axis=0).astype(np.float32))


def _report(passages: Sides, questions: Sides, answers: list[int], means: LanguageMeans) -> None:
    """Hit@1 among all paragraphs of two languages at once, the asker's own and another."""
    print("hit@1: the question's paragraph in the other language before all other paragraphs of")
    print("both, its own translation aside; left as the model gives it, right language-centred")
    for asked, told in (("zh", "en"), ("en", "zh"), ("en", "de"), ("ru", "th"), ("hi", "es")):
        if asked in passages and told in passages:
            raw = _hits(passages, questions, answers, asked, told, None)
            centred = _hits(passages, questions, answers, asked, told, means)
            print(f"  {asked} asks {told}: {raw:.3f} -> {centred:.3f}")


def _hits(
    passages: Sides,
    questions: Sides,
    answers: list[int],
    asked: str,
    told: str,
    means: LanguageMeans | None,
) -> float:
    own, other, queries = passages[asked], passages[told], questions[asked]
    if means is not None:
        own = means.centre_passages(own, [asked] * len(own))
        other = means.centre_passages(other, [told] * len(other))
        queries = np.stack([means.centre_query(q) for q in queries])
    right = np.array(answers)
    distractors = queries @ own.T
    distractors[np.arange(len(right)), right] = -1.0
    scores = np.concatenate([queries @ other.T, distractors], axis=1)
    return float((scores.argmax(axis=1) == right).mean())


if __name__ == "__main__":
    sys.exit(main())
