-- Models: providers that stand in for one another, and what a call has cost.

ALTER TABLE agent_executions
    ADD COLUMN original_llm_provider text,
    ADD COLUMN original_llm_backend text,
    ADD COLUMN original_model_name text,
    ADD COLUMN fallback_reason text,
    ADD COLUMN fallback_error_code text,
    ADD COLUMN fallback_attempt integer;

-- In US dollars. Unknown is NULL, which is not the same as nothing.
ALTER TABLE llm_interactions ADD COLUMN estimated_cost_usd double precision;
