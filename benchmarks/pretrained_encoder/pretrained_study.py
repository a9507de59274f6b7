"""What do candidates gain at equal annotation, with an encoder that others pretrained? The queue of its runs.

Everything is a command of conjoin, and every command a unit that is not done again: `units` prints them in
order, `run` does those that are not done, until its hours are over, evaluates, and keeps what each system got
right in benchmarks/outcomes/CORPUS.jsonl and what each command cost in outcomes/pretrained_costs.jsonl.
`pretrained_tables.py` prints the tables of what is kept. A corpus folder has a name of its own for this
study, such as genia-minilm.

    python benchmarks/pretrained_encoder/pretrained_study.py run --corpus data/study/genia-minilm --seeds 0 1

On a machine with a GPU, which every command takes, ``--jobs 15`` has fifteen of them share it.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from benchmarks.outcomes import main as keep_outcomes
from benchmarks.units import Unit, evaluate, print_or_run

COSTS = FOLDER / "pretrained_costs.jsonl"

PARSERS = {1: "of-other", 2: "l-trees", 3: "l-and-more"}
"""By the level of annotation, the parser that fine-tunes the encoder; both sides of every comparison use it.

It learned from 2,500 trees of another corpus, of which nothing else is known; L's own trees; those and 2,500
others outside the draw, whose gold coordinations every predictor of that level learns, too.
"""

MORE = "2500"
"""Trees beside L's, or of the other corpus; preparse's five epochs of them are more than 30 of L's."""

UNPARSED = ("--limit", "1")
"""Of preparse where only its parser is wanted."""

RETRAINED = "again"
"""The parser that learned from L's trees and, as the first reads them, sentences whose rows all passed."""

RATE = "1e-4"
TRAINING = (
    "--select", "last", "--eval-every", "200", "--patience", "100000",
)  # fmt: skip
"""Of every predictor; the rate is chosen by seed 100 on dev sentences (README.md here)."""

PARSING = (
    "--parser-hidden", "128", "--parser-lm-rate", "5e-5",
)  # fmt: skip
"""Of every parser; the draw's validation sentences choose among its 30 epochs."""

VARIANTS: dict[str, tuple[str, ...]] = {
    "small-batches": ("--n-batch", "8", "--k", "4", "--k-max", "8"),
    "fast": ("--learning-rate", "2e-4"),
    "fast-scorer": ("--learning-rate", "1e-3", "--encoder-rate", "0.1"),
    "long": (),
}
"""Training otherwise, to choose by: each of the predictor of L and of that of believed candidates.

Small batches are half as large, and there are twice as many: what is read is as much. Long is twice the
updates.
"""

RELATIVE = "0.001"
"""Least share of the predictor's best that a harvested boundary must have."""

WHOLE = "1500"
"""Rows drawn of those whose sentences passed whole, for the parser that learns again: the prototype's number;
five epochs of all 4,515 sentences of GENIA would take half an hour."""


BRACKETS = ("--brackets", "1")
"""Of the strongest row without candidates, and of rows that are compared with it."""

RANKED = "16"
"""Donors among which a language model chooses."""

FEW = "1000"
"""Sentences of U for which a causal LM chooses or writes, and of which a harvest is held beside it."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The units of one draw of L at a level of annotation.

    Attributes:
        corpus: the corpus folder, ingested with this draw.
        labelled: size of L.
        seed: of the draw and of everything else.
        encoder: the untouched one, of predictors and parsers.
        updates: of every predictor.
        variants: of ``VARIANTS``, trained besides.
        masked_lm: writes and ranks fills; None: there are none. Of ``attested`` one is taken at random, so
            what it says is in no row there but in ``score``.
        causal: writes and ranks fills of the first ``FEW`` sentences of U; None: there are none.
        level: of ``PARSERS``.
        other: level 1: the folder of the other corpus, where its parser is trained.
        rate: of learning, of every predictor.
        precision: number format of matrix products, where predictors and parsers learn.
    """

    corpus: Path
    labelled: str
    seed: int
    encoder: Path
    updates: int
    variants: Sequence[str] = ()
    masked_lm: Path | None = None
    level: int = 2
    other: Path | None = None
    rate: str = RATE
    precision: str = "no"
    causal: Path | None = None

    @property
    def formats(self) -> tuple[str, ...]:
        """The number format, as options; none for the usual one, which no earlier unit names."""
        return () if self.precision == "no" else ("--mixed-precision", self.precision)

    @property
    def at(self) -> str:
        """The draw, as names of units and folders have it."""
        return f"{self.labelled}/seed-{self.seed}"

    @property
    def draw(self) -> tuple[str, ...]:
        """The draw, as options."""
        return ("--labelled", self.labelled, "--seed", str(self.seed))

    @property
    def learning(self) -> tuple[str, ...]:
        """Options of every parser that learns here."""
        return ("--parser-lm", str(self.encoder), *PARSING, *self.formats)

    @property
    def believed(self) -> tuple[str, ...]:
        """Options that select what the predictor of L believes."""
        predictor = self.corpus / "runs" / "predictor" / self.at / "predictor"
        return ("--predictor", str(predictor), "--relative", RELATIVE)

    def candidates(self, name: str) -> str:
        """A folder of candidates."""
        return str(self.corpus / "candidates" / name / self.at)

    def unit(self, name: str, *command: str, needs: Sequence[str] = ()) -> Unit:
        """A command of this draw, and those of it that come before."""
        return Unit(f"{name} {self.at}", command, tuple(f"{each} {self.at}" for each in needs))

    def train(
        self, system: str, mode: str, *more: str, needs: Sequence[str] = (), first: str = ""
    ) -> Unit:
        """A predictor; at level 3 it learns the gold coordinations of the parser's trees as well.

        With ``first`` it begins with the encoder of that system's predictor, and makes as many updates more.
        """
        variant = next((name for name in self.variants if system.endswith(f"-{name}")), "")
        twice = variant in {"small-batches", "long"}
        steps = ("--steps", str(2 * self.updates if twice else self.updates))
        command = ["train", str(self.corpus), "--system", system, "--mode", mode, *self.draw]
        # The paper filters nothing in the first tenth of its updates.
        warm = ("--warm-steps", str(self.updates // 10) if mode == "filter" else "0")
        learning = (*steps, "--learning-rate", self.rate, *warm, *TRAINING, "--resume")
        began = f"runs/{first}/{{labelled}}/seed-{{seed}}/predictor" if first else self.encoder
        command += ["--encoder", str(began), *learning, *self.formats]
        needs = (*needs, *([f"train {first}"] if first else []))
        if self.level == 3:
            command += ["--gold-of", f"parsers/{PARSERS[3]}/{{labelled}}/seed-{{seed}}"]
            needs = ("preparse", *needs)
        return self.unit(
            f"train {system}", *command, *VARIANTS.get(variant, ()), *more, needs=needs
        )

    def learn(self, system: str, folder: str, needs: str, *more: str) -> Unit:
        """A predictor of all candidates of a folder."""
        source = ("--candidates", self.candidates(folder))
        return self.train(system, "no-filter", *source, *more, needs=(needs,))

    def select(self, folder: str, *sources: str, more: Sequence[str], needs: Sequence[str]) -> Unit:
        """A folder of candidates, chosen from others."""
        names = (self.candidates(source) for source in sources)
        out = ("--out", self.candidates(folder), "--seed", str(self.seed))
        return self.unit(f"select {folder}", "select", *names, *out, *more, needs=needs)

    def parsers(self) -> Iterator[Unit]:
        """The parser of the level; U is parsed where something is filled, at level 2.

        Raises:
            SystemExit: level 1 without another corpus.
        """
        own = ("preparse", str(self.corpus))
        named = (*self.draw, "--name", PARSERS[self.level])
        taught = ("--parser", "labelled", *self.learning)
        if self.level == 1:
            if self.other is None:
                raise SystemExit("level 1 needs --other, the folder of another corpus")
            learned = ("--parser", "train", "--parser-trees", MORE, *self.learning)
            others = Unit("preparse other", ("preparse", str(self.other), *learned, *UNPARSED))
            yield others
            lent = self.unit("preparse", *own, "--parser", str(self.other), *named, *UNPARSED)
            yield lent._replace(needs=(others.name,))
        elif self.level == 2:
            # A harvest parses its own sentences; fills need trees of the others.
            unparsed = () if self.masked_lm or self.causal else UNPARSED
            yield self.unit("preparse", *own, *taught, *named, *unparsed)
        else:
            yield self.unit("preparse", *own, *taught, *named, "--more-trees", MORE, *UNPARSED)

    def units(self) -> Iterator[Unit]:
        """All of them, in order."""
        yield from self.parsers()
        yield self.train("predictor", "baseline")
        harvest = ("--trees", PARSERS[self.level], *self.draw, "--out", self.candidates("harvest"))
        yield self.unit("harvest", "harvest", str(self.corpus), *harvest, needs=("preparse",))
        needs = ("harvest", "train predictor")
        yield self.select("believed", "harvest", more=self.believed, needs=needs)
        yield self.learn("believed", "believed", "select believed")
        yield self.learn("harvest", "harvest", "harvest")
        for variant in self.variants:
            yield self.train(f"predictor-{variant}", "baseline")
            yield self.learn(f"believed-{variant}", "believed", "select believed")
        if self.level == 1:
            of_other = ("--gold-of", f"parsers/{PARSERS[1]}/{{labelled}}/seed-{{seed}}")
            yield self.train("gold", "baseline", *of_other, needs=("preparse",))
            yield self.learn("believed-gold", "believed", "select believed", *of_other)
            for first in ("believed", "gold"):  # the second makes as many updates, and is a control
                yield self.train(f"gold-after-{first}", "baseline", *of_other, first=first)
            constituents = (*of_other, *BRACKETS)  # of the other's trees, for L has none here
            yield self.train("gold-brackets", "baseline", *constituents, needs=("preparse",))
            for first in ("believed", "gold-brackets"):
                system = f"gold-brackets-after-{first}"
                yield self.train(system, "baseline", *constituents, first=first)
        if self.level == 3:
            for first in ("believed", "predictor"):
                yield self.train(f"predictor-after-{first}", "baseline", first=first)
        if self.level == 2:
            yield from self.parsers_again()
            yield self.train("brackets", "baseline", *BRACKETS)
            yield self.train("copy-brackets", "baseline", "--augment", "copy", *BRACKETS)
            yield self.learn("believed-brackets", "believed", "select believed", *BRACKETS)
            for first in ("believed-brackets", "brackets"):
                yield self.train(f"brackets-after-{first}", "baseline", *BRACKETS, first=first)
            yield from self.filled()
            yield from self.filled_by_causal()
        for augment in ("copy", "mask"):
            yield self.train(augment, "baseline", "--augment", augment)

    def parsers_again(self) -> Iterator[Unit]:
        """The parser that learns again from sentences whose rows were believed, all of them."""
        whole = (
            *self.believed,
            "--whole-sentences",
            "--sample",
            "random-sentences",
            "--size",
            WHOLE,
        )
        yield self.select("whole", "harvest", more=whole, needs=("harvest", "train predictor"))
        also = ("--also", self.candidates("whole"), "--teacher", PARSERS[2], "--name", RETRAINED)
        taught = ("--parser", "labelled", *self.learning, *self.draw, *also, "--parser-epochs", "5")
        command = ("preparse", str(self.corpus), *taught, *UNPARSED)
        yield self.unit(f"preparse {RETRAINED}", *command, needs=("preparse", "select whole"))

    def generate(self, folder: str, *more: str, causal: bool = False) -> Unit:
        """Candidates of U, by the masked LM or the causal one."""
        model = self.causal if causal else self.masked_lm
        family = ("--lm", "causal" if causal else "bert", "--model", str(model))
        made = (*family, "--trees", PARSERS[2], *self.draw, *more)
        command = ("generate", str(self.corpus), *made, "--out", self.candidates(folder))
        return self.unit(f"generate {folder}", *command, needs=("preparse",))

    def filled(self) -> Iterator[Unit]:
        """Fills, free ones and such as people wrote, and predictors of them."""
        if self.masked_lm is None:
            return
        yield self.generate("attested", "--fills", "attested", "--pool", "1")
        yield self.learn("attested", "attested", "generate attested")
        needs = ("harvest", "generate attested")
        yield self.select("both", "harvest", "attested", more=(), needs=needs)
        yield self.learn("both", "both", "select both")
        yield self.generate("free")
        yield self.learn("free-brackets", "free", "generate free", *BRACKETS)
        free = ("--candidates", self.candidates("free"), *BRACKETS)
        yield self.train("free-filter-brackets", "filter", *free, needs=("generate free",))
        yield self.generate("ranked", "--fills", "attested", "--pool", RANKED)
        yield self.learn("ranked-brackets", "ranked", "generate ranked", *BRACKETS)
        needs = ("select believed", "generate ranked")
        yield self.select("believed-ranked", "believed", "ranked", more=(), needs=needs)
        yield self.learn(
            "believed-ranked-brackets", "believed-ranked", "select believed-ranked", *BRACKETS
        )

    def filled_by_causal(self) -> Iterator[Unit]:
        """What a causal LM chooses and writes for few sentences, beside as many that are harvested."""
        if self.causal is None:
            return
        made = ("--limit", FEW, "--dtype", "bfloat16")
        attested = ("--fills", "attested", "--pool")
        yield self.generate("few-attested", *made, *attested, "1", causal=True)
        yield self.generate("few-ranked", *made, *attested, RANKED, causal=True)
        yield self.generate("few-written", *made, causal=True)
        harvest = ("--trees", PARSERS[2], *self.draw, "--limit", FEW)
        out = ("--out", self.candidates("few-harvested"))
        command = ("harvest", str(self.corpus), *harvest, *out)
        yield self.unit("harvest few-harvested", *command, needs=("preparse",))
        for name in ("few-attested", "few-ranked", "few-written"):
            yield self.learn(f"{name}-brackets", name, f"generate {name}", *BRACKETS)
        needs = "harvest few-harvested"
        yield self.learn("few-harvested-brackets", "few-harvested", needs, *BRACKETS)


def main(given: argparse.Namespace) -> None:
    """Print or do the units of the seeds, one chain after the other."""
    chains = (
        Chain(
            given.corpus,
            given.labelled,
            seed,
            given.encoder,
            given.updates,
            given.variants,
            given.masked_lm,
            given.level,
            given.other,
            precision=given.mixed_precision,
            causal=given.causal,
        )
        for seed in given.seeds
    )
    # The other corpus's parser is every seed's.
    named = {unit.name: unit for each in chains for unit in each.units()}
    if not print_or_run(list(named.values()), given, COSTS):
        return
    parsers: list[str] = []
    for name in (PARSERS[given.level], RETRAINED):
        if (given.corpus / "parsers" / name).is_dir():
            parsers += ["--parser", name]
    evaluate(given.corpus, given.split, *parsers)
    if given.split == "test":  # settings are chosen by what the command above prints
        keep_outcomes(given.corpus)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("units", "run"))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, default=Path("data/models/minilm"))
    parser.add_argument("--masked-lm", type=Path, help="writes and ranks fills")
    parser.add_argument("--causal", type=Path, help="a causal LM that writes and ranks fills, too")
    parser.add_argument("--level", type=int, choices=PARSERS, default=2, help="of annotation")
    parser.add_argument("--other", type=Path, help="level 1: another corpus's folder")
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--updates", type=int, default=1200)
    parser.add_argument("--mixed-precision", choices=("no", "bf16"), default="no")
    parser.add_argument(
        "--variants", nargs="*", choices=VARIANTS, default=[], help="to choose settings by"
    )
    parser.add_argument(
        "--only", nargs="*", default=[], help="units, as 'train believed', and what they need"
    )
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time, a core each")
    parser.add_argument("--hours", type=float, default=1000.0)
    parser.add_argument("--split", default="test", help="dev for the choice of settings")
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())
