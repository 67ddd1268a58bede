"""How a tagger trains the models of its first stage: as itself, with one stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualstruct.data.sources import Share
from dualstruct.distributed.training import Job
from dualstruct.tasks.tagging.model import ChainModel
from dualstruct.tasks.tagging.stages import FirstStage
from dualstruct.training.settings import untrained

if TYPE_CHECKING:
    from dualstruct.estimators.tagger import SequenceTagger


def first_stage(tagger: SequenceTagger, job: Job) -> FirstStage | None:
    """What comes before the last stage, if there is anything.

    The model of all data is judged by development data, and says for how long the others train;
    nothing of it is kept in checkpoints.
    """
    if tagger.stages < 2:
        return None
    run = {"stages": 1, "checkpoint": None, "resume": False}
    best_pass: list[int] = []

    def train(share: Share, whole: bool) -> ChainModel:
        own = untrained(tagger).set_params(**run, verbose=tagger.verbose and whole)
        if best_pass:
            own.set_params(passes=best_pass[0])
        trained = own.train_share(Job.alone(share, job.dev if whole else None), None, ())
        if whole and job.dev is not None:
            best_pass.append(max(trained.result.best_pass or 0, 1))
        model: ChainModel = trained.model
        return model

    return FirstStage(train, tagger.seed)
