-- Turns that nobody waits for: of operations that are answered, or gone.
DELETE FROM operation_turns WHERE NOT EXISTS (SELECT 1 FROM operations o
    WHERE o.id = operation_turns.operation_id AND o.phase <> 'answered');
