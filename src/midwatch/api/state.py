"""What the lifespan yields, and how routes ask for it."""

from typing import Annotated, TypedDict

from fastapi import Depends, Request

from midwatch.intake.submit_alert import Intake
from midwatch.queue.worker import Worker
from midwatch.store.engine import Store
from midwatch.timeline.flush import Flusher
from midwatch.timeline.hub import Hub


class State(TypedDict):
    store: Store
    flusher: Flusher
    hub: Hub
    intake: Intake
    worker: Worker


def _store(request: Request) -> Store:
    return request.state.store


def _flusher(request: Request) -> Flusher:
    return request.state.flusher


def _intake(request: Request) -> Intake:
    return request.state.intake


def _worker(request: Request) -> Worker:
    return request.state.worker


TheStore = Annotated[Store, Depends(_store)]
TheFlusher = Annotated[Flusher, Depends(_flusher)]
TheIntake = Annotated[Intake, Depends(_intake)]
TheWorker = Annotated[Worker, Depends(_worker)]
