"""Stories that are too long for a model are cut where they are longest, and say so."""

from midwatch.domain.session import WorkStatus
from midwatch.domain.stories import AgentStory, Called, Deed, Failed, Said, StageStory, Thought
from midwatch.investigation.stories import fit_stories


def tell(*deeds: Deed, analysis: str = "It is dry.") -> tuple[StageStory, ...]:
    agent = AgentStory(
        agent="watch",
        status=WorkStatus.COMPLETED,
        deeds=deeds,
        analysis=analysis,
        error=None,
        provider="p",
        model="m",
    )
    return (StageStory(name="look", status=WorkStatus.COMPLETED, agents=(agent,)),)


def called(result: str) -> Called:
    return Called(tool="deck.echo", arguments="{}", result=result)


def test_what_fits_is_left_as_it_is() -> None:
    stories = tell(Thought(text="Hm."), Said(text="I look."), called("dry"), Failed(text="no key"))
    assert fit_stories(stories, characters=1_000) == stories


def test_long_texts_give_way_before_short_ones_and_keep_their_ends() -> None:
    long = f"begin{'x' * 50_000}end"
    (story,) = fit_stories(tell(Thought(text="Hm."), called(long), called("dry")), characters=20_000)
    thought, cut, short = story.agents[0].deeds
    assert (thought, short) == (Thought(text="Hm."), called("dry"))
    assert isinstance(cut, Called)
    assert len(cut.result) < 17_000
    assert cut.result.startswith("begin")
    assert cut.result.endswith("end")
    assert "[34,008 characters left out]" in cut.result


def test_many_texts_are_cut_until_all_of_them_fit() -> None:
    (story,) = fit_stories(tell(*(called("x" * 5_000) for _ in range(40))), characters=60_000)
    results = [deed.result for deed in story.agents[0].deeds if isinstance(deed, Called)]
    assert len(results) == 40
    assert sum(map(len, results)) <= 60_000


def test_an_analysis_stays_whole_however_long() -> None:
    (story,) = fit_stories(tell(called("x" * 5_000), analysis="y" * 90_000), characters=1_000)
    assert story.agents[0].analysis == "y" * 90_000
