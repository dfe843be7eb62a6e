-- Lists of volumes by a status and by a name, without a look at every volume of the project.  By
-- status: of one project in the order of its pages, and of all projects, which the compute agents
-- ask for.  Most volumes that a machine makes have no name, and are not in the index by name.

DROP INDEX volumes_by_status;
CREATE INDEX volumes_by_status ON volumes (status, project_id, created_at, id);
CREATE INDEX volumes_by_name ON volumes (display_name, project_id, created_at, id)
    WHERE display_name IS NOT NULL;
