libscoria_a_SOURCES += \
	declared/definition.c declared/definition.h declared/definition_schema.c \
	declared/retries.c declared/retries.h \
	declared/changes.c declared/changes.h \
	declared/condition.c declared/condition.h \
	declared/config_reclaim.c declared/config_reclaim.h \
	declared/controller.c declared/controller.h declared/controller.private.h \
	declared/controller_pools.c \
	declared/document.c declared/document.h \
	declared/document_changes.c declared/document_changes.h \
	declared/document_edit.c declared/document_edit.h \
	declared/document_find.c \
	declared/document_quota.c declared/document_quota.h \
	declared/document_store.c declared/document_store.h declared/document_store.private.h \
	declared/document_own.c declared/document_own.h \
	declared/kind.c declared/kind.h \
	declared/name.c declared/name.h \
	declared/phases.c declared/phases.h \
	declared/pool_changes.c declared/pool_changes.h \
	declared/pool_drain.c declared/pool_drain.h \
	declared/pool_list.c declared/pool_list.h \
	declared/progress.c declared/progress.h \
	declared/reconcile.c declared/reconcile.h declared/reconcile.private.h \
	declared/reconcile_create.c \
	declared/reconcile_health.c \
	declared/reconcile_replacement.c \
	declared/reconcile_reclaim.c \
	declared/reconcile_replica.c declared/reconcile_replicas.c declared/reconcile_revert.c \
	declared/reconcile_recovery.c \
	declared/reconcile_finish.c \
	declared/reconcile_size.c \
	declared/reconcile_snapshot_node.c declared/reconcile_snapshots.c \
	declared/reconcile_target.c \
	declared/reconcile_update.c \
	declared/replica_replacement.c declared/replica_replacement.h \
	declared/replica_placement.c declared/replica_placement.h \
	declared/replica_pool.c declared/replica_pool.h \
	declared/replica_space.c declared/replica_space.h \
	declared/replicated_volume.c \
	declared/schema.c declared/schema.h declared/schema_edit.c \
	declared/settled.c declared/settled.h \
	declared/snapshot_node.c declared/snapshot_node.h \
	declared/snapshot_source.c declared/snapshot_source.h \
	declared/tree.h \
	declared/volume_config.c declared/volume_config.h \
	declared/volume_config_snapshot.c \
	declared/volume_health.c declared/volume_health.h \
	declared/volume_policy.c \
	declared/volume_replica.c \
	declared/volume_revert.c declared/volume_revert.h \
	declared/volume_recovery.c declared/volume_recovery.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/declared/test_definition \
	tests/unit/declared/test_retries \
	tests/unit/declared/test_condition \
	tests/unit/declared/test_controller \
	tests/unit/declared/test_document_bytes \
	tests/unit/declared/test_document_changes \
	tests/unit/declared/test_document_edit \
	tests/unit/declared/test_document_own \
	tests/unit/declared/test_document_quota \
	tests/unit/declared/test_phases \
	tests/unit/declared/test_pool_changes \
	tests/unit/declared/test_pool_drain \
	tests/unit/declared/test_progress \
	tests/unit/declared/test_reconcile \
	tests/unit/declared/test_reconcile_health \
	tests/unit/declared/test_reconcile_replacement \
	tests/unit/declared/test_reconcile_reclaim \
	tests/unit/declared/test_reconcile_revert \
	tests/unit/declared/test_reconcile_recovery \
	tests/unit/declared/test_reconcile_snapshots \
	tests/unit/declared/test_reconcile_walk \
	tests/unit/declared/test_replica_placement \
	tests/unit/declared/test_replica_pool \
	tests/unit/declared/test_replica_space \
	tests/unit/declared/test_revert_walk \
	tests/unit/declared/test_schema \
	tests/unit/declared/test_settled \
	tests/unit/declared/test_takeover \
	tests/unit/declared/test_volume_config_snapshot \
	tests/unit/declared/test_volume_health
endif
