-- Hosts that an older release told how to open a volume: it kept no connection of that. A volume that
-- is being attached, detached or in use without an attachment that says so may be open there.
INSERT INTO connections (id, volume_id, host, created_at)
    SELECT v.id, v.id, '', v.created_at FROM volumes v
    WHERE v.status IN ('attaching', 'detaching', 'in-use')
    AND NOT EXISTS (SELECT 1 FROM connections c WHERE c.volume_id = v.id)
    AND NOT EXISTS (SELECT 1 FROM attachments a WHERE a.volume_id = v.id
        AND a.attach_status IN ('attached', 'attaching', 'detaching'));
