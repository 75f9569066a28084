"""An execution that goes on with another provider, and what it began with."""

from dataclasses import dataclass
from uuid import UUID

from midwatch.store.driver import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSwitch:
    provider: str
    backend: str
    model: str
    reason: str
    code: str
    attempt: int


async def switch_provider(tx: Tx, execution_id: UUID, switch: ProviderSwitch) -> None:
    """The first provider is kept as the original, however often it changes afterwards."""
    await tx.execute(
        """
        UPDATE agent_executions SET
            original_llm_provider = coalesce(original_llm_provider, llm_provider),
            original_llm_backend = coalesce(original_llm_backend, llm_backend),
            original_model_name = coalesce(original_model_name, model_name),
            llm_provider = $2, llm_backend = $3, model_name = $4,
            fallback_reason = $5, fallback_error_code = $6, fallback_attempt = $7
        WHERE execution_id = $1
        """,
        execution_id,
        switch.provider,
        switch.backend,
        switch.model,
        switch.reason,
        switch.code,
        switch.attempt,
    )
