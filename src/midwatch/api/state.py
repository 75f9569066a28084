"""What the lifespan yields, and how routes ask for it.

In coroutines: FastAPI asks a plain function in a thread, which costs more than all the rest.
"""

from typing import Annotated, TypedDict

from fastapi import Depends, Request

from midwatch.api.approver import ApproverSecret
from midwatch.config.load import Config
from midwatch.intake.ask_question import Questions
from midwatch.intake.submit_alert import Intake
from midwatch.knowledge.runbooks import Runbooks
from midwatch.queue.worker import Worker
from midwatch.store.engine import Store
from midwatch.telemetry.metrics import Meters
from midwatch.timeline.flush import Flusher
from midwatch.timeline.hub import Hub
from midwatch.tools.sightings import Sightings


class State(TypedDict):
    store: Store
    flusher: Flusher
    hub: Hub
    intake: Intake
    questions: Questions
    worker: Worker
    chat_worker: Worker
    config: Config
    sightings: Sightings
    runbooks: Runbooks
    approver: ApproverSecret
    meters: Meters


async def _store(request: Request) -> Store:
    return request.state.store


async def _flusher(request: Request) -> Flusher:
    return request.state.flusher


async def _intake(request: Request) -> Intake:
    return request.state.intake


async def _questions(request: Request) -> Questions:
    return request.state.questions


async def _worker(request: Request) -> Worker:
    return request.state.worker


async def _chat_worker(request: Request) -> Worker:
    return request.state.chat_worker


async def _config(request: Request) -> Config:
    return request.state.config


async def _sightings(request: Request) -> Sightings:
    return request.state.sightings


async def _meters(request: Request) -> Meters:
    return request.state.meters


async def _runbooks(request: Request) -> Runbooks:
    return request.state.runbooks


TheStore = Annotated[Store, Depends(_store)]
TheFlusher = Annotated[Flusher, Depends(_flusher)]
TheIntake = Annotated[Intake, Depends(_intake)]
TheQuestions = Annotated[Questions, Depends(_questions)]
TheWorker = Annotated[Worker, Depends(_worker)]
TheChatWorker = Annotated[Worker, Depends(_chat_worker)]
TheConfig = Annotated[Config, Depends(_config)]
TheSightings = Annotated[Sightings, Depends(_sightings)]
TheRunbooks = Annotated[Runbooks, Depends(_runbooks)]
TheMeters = Annotated[Meters, Depends(_meters)]
