"""What the kernel complains about: broken disks, crashes, tasks that hang."""

import re
from collections.abc import Iterator

from midwatch.llm.demo.answers import KernelMessages
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Topic, Wish
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.wording import show

_TROUBLE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), meaning)
    for pattern, meaning in (
        (r"i/o error|medium error|critical target error", "a disk reports errors"),
        (r"remounting filesystem read-only|ext4-fs error|xfs.{0,40}corrupt", "a file system is damaged"),
        (r"machine check|hardware error|mce:", "the hardware reports errors"),
        (r"blocked for more than|soft lockup|hard lockup|rcu.{0,20}stall", "a task hangs in the kernel"),
        (r"kernel panic|\boops\b|\bBUG:", "the kernel itself failed"),
    )
)


def wish(_: Case) -> Iterator[Wish]:
    yield Wish(need=Need.KERNEL_MESSAGES, arguments={"lines": 50}, why="The kernel may have complained.")


def find(case: Case) -> Iterator[Problem]:
    for seen in case.facts.of(KernelMessages):
        for pattern, meaning in _TROUBLE:
            said = [message.text for message in seen.answer.messages if pattern.search(message.text[:2000])]
            if said:
                yield Problem(
                    symptom=Symptom.KERNEL,
                    headline=f"The kernel says that {meaning}: {show(said[-1])}.",
                    evidence=tuple(Point(source=seen.source, text=show(text)) for text in said[-2:]),
                    advice=(Advice(text="Read all its messages", command="dmesg --level=err,warn"),),
                )


def read(case: Case) -> Iterator[Point]:
    for seen in case.facts.of(KernelMessages):
        count = len(seen.answer.messages)
        if count and not any(True for _ in find(case)):
            yield Point(source=seen.source, text=f"{count} messages of the kernel listed, none that I know as trouble.")


TOPIC = Topic(symptom=Symptom.KERNEL, wish=wish, find=find, read=read)
