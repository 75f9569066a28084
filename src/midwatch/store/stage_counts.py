"""How far a session has come, counted: the same words in its detail, its statistics and the lists."""

_PLANNED = """
    jsonb_array_length(s.chain->'stages') + 1 + (
        SELECT count(*) FROM jsonb_array_elements(s.chain->'stages') AS g
        WHERE greatest((g->>'replicas')::integer, jsonb_array_length(g->'agents')) > 1
    )
"""
"""The stages of the chain, a synthesis for each that has several agents, and the summary."""

STAGE_COUNTS = f"""
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE status = 'completed') AS completed_stages,
               count(*) FILTER (WHERE status = 'failed') AS failed_stages,
               coalesce(bool_or(parallel_type IS NOT NULL), false) AS has_parallel_stages,
               CASE s.status WHEN 'completed' THEN count(*)
                    ELSE {_PLANNED} + count(*) FILTER (WHERE stage_type IN ('chat', 'scoring')) END AS total_stages
        FROM stages WHERE session_id = s.session_id
    ) st
"""  # noqa: S608 -- nothing but columns of ours
"""Of a session `s`. What is still to come counts until the session is complete; then it is what there was."""
