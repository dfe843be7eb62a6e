#include "common/cleanup.h"
#include "manager/check/check.private.h"

/* Consistency of the rows with each other, by the names of kinds. */

static const struct disagreement disagreements[] = {
    { "P5",
      "SELECT kind FROM (SELECT d.kind, d.project_id, COUNT(*) AS found, "
      "(SELECT c.documents FROM document_counts c WHERE c.kind = d.kind AND "
      "c.project_id = d.project_id) AS counted FROM documents d GROUP BY d.kind, d.project_id) "
      "AS kinds WHERE COALESCE(counted, 0) <> found",
      "documents of kind", "are not as many as was counted" },
    { "P5",
      "SELECT c.kind FROM document_counts c WHERE c.documents <> 0 AND NOT EXISTS (SELECT 1 "
      "FROM documents d WHERE d.kind = c.kind AND d.project_id = c.project_id)",
      "documents of kind", "are counted and not there" },
    { "P5",
      "SELECT c.kind FROM document_counts c WHERE c.bytes <> COALESCE((SELECT SUM(d.bytes) "
      "FROM documents d WHERE d.kind = c.kind AND d.project_id = c.project_id), 0)",
      "documents of kind", "have not as many bytes as was counted" },
    { "P5",
      "SELECT d.id FROM documents d JOIN documents o ON o.id = d.owner_id "
      "WHERE o.project_id <> d.project_id",
      "document", "is another project's than its owner" },
    { "P5",
      "SELECT id FROM documents WHERE kind IN ('CStorVolume', 'CStorVolumeReplica', "
      "'CStorVolumeSnapshot') "
      "AND owner_id IS NULL",
      "document", "belongs to nothing" },
    { "P5",
      "SELECT d.id FROM documents d JOIN documents o ON o.id = d.owner_id WHERE NOT "
      "((d.kind = 'CStorVolume' AND o.kind = 'CStorVolumeConfig') OR "
      "(d.kind = 'CStorVolumeSnapshot' AND o.kind = 'CStorVolumeConfig') OR "
      "(d.kind = 'CStorVolumeReplica' AND o.kind = 'CStorVolume'))",
      "document", "belongs to what has no such" },
    { "P5",
      "SELECT owner_id FROM documents WHERE kind = 'CStorVolume' AND owner_id IS NOT NULL "
      "GROUP BY owner_id HAVING COUNT(*) > 1",
      "config", "has several volumes" },
    { "P5", "SELECT id FROM documents WHERE version > (SELECT version FROM document_versions)",
      "document", "has a number that was not given yet" },
    { "P5",
      "SELECT d.id FROM documents d WHERE d.deleted_at IS NOT NULL AND "
      "d.metadata LIKE '%\"finalizers\":[]%' AND NOT EXISTS (SELECT 1 FROM documents o "
      "WHERE o.owner_id = d.id)",
      "document", "is deleted and waits for nothing" },
    { "P5",
      "SELECT id FROM documents WHERE kind = 'CStorVolume' AND node IS NULL "
      "AND status LIKE '%\"target\":{%'",
      "volume", "has a target in its status, but no node" },
    { "P5",
      "SELECT d.id FROM documents d WHERE d.kind = 'CStorVolume' AND d.node IS NOT NULL "
      "AND d.deleted_at IS NOT NULL",
      "volume", "is being deleted, but still assigned to a node" },
};

int round_check_documents(struct round *round, struct work *work, struct error *err) {
    return round_check_agree(round, work, disagreements, LENGTH(disagreements), err);
}
