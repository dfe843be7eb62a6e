-- The volume service of each volume that a backend has: new volumes are given it when they are made.
UPDATE volumes SET service_uuid = (SELECT s.id FROM pools p
    JOIN services s ON s.host = p.host AND s.binary_name = 'cinder-volume'
    WHERE p.name = volumes.host) WHERE service_uuid IS NULL;
