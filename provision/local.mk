libscoria_a_SOURCES += \
	provision/definition.c provision/definition.h provision/definition_schema.c \
	provision/retries.c provision/retries.h \
	provision/changes.c provision/changes.h \
	provision/condition.c provision/condition.h \
	provision/config_reclaim.c provision/config_reclaim.h \
	provision/controller.c provision/controller.h \
	provision/document.c provision/document.h \
	provision/document_changes.c provision/document_changes.h \
	provision/document_edit.c provision/document_edit.h \
	provision/document_find.c \
	provision/document_quota.c provision/document_quota.h \
	provision/document_store.c provision/document_store.h provision/document_store.private.h \
	provision/document_own.c provision/document_own.h \
	provision/kind.c provision/kind.h \
	provision/name.c provision/name.h \
	provision/phases.c provision/phases.h \
	provision/pool_list.c provision/pool_list.h \
	provision/progress.c provision/progress.h \
	provision/reconcile.c provision/reconcile.h provision/reconcile.private.h \
	provision/reconcile_create.c \
	provision/reconcile_health.c \
	provision/reconcile_move.c \
	provision/reconcile_reclaim.c \
	provision/reconcile_replicas.c provision/reconcile_revert.c \
	provision/reconcile_salvage.c \
	provision/reconcile_settle.c \
	provision/reconcile_size.c \
	provision/reconcile_snapshot_node.c provision/reconcile_snapshots.c \
	provision/reconcile_target.c \
	provision/replica_move.c provision/replica_move.h \
	provision/replica_placement.c provision/replica_placement.h \
	provision/replica_pool.c provision/replica_pool.h \
	provision/replica_space.c provision/replica_space.h \
	provision/replicated_volume.c \
	provision/schema.c provision/schema.h provision/schema_edit.c \
	provision/snapshot_node.c provision/snapshot_node.h \
	provision/snapshot_source.c provision/snapshot_source.h \
	provision/volume_config.c \
	provision/volume_config_snapshot.c \
	provision/volume_health.c provision/volume_health.h \
	provision/volume_policy.c \
	provision/volume_replica.c \
	provision/volume_revert.c provision/volume_revert.h \
	provision/volume_salvage.c provision/volume_salvage.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/provision/test_definition \
	tests/unit/provision/test_retries \
	tests/unit/provision/test_condition \
	tests/unit/provision/test_controller \
	tests/unit/provision/test_document_bytes \
	tests/unit/provision/test_document_changes \
	tests/unit/provision/test_document_edit \
	tests/unit/provision/test_document_own \
	tests/unit/provision/test_document_quota \
	tests/unit/provision/test_phases \
	tests/unit/provision/test_progress \
	tests/unit/provision/test_reconcile \
	tests/unit/provision/test_reconcile_health \
	tests/unit/provision/test_reconcile_move \
	tests/unit/provision/test_reconcile_reclaim \
	tests/unit/provision/test_reconcile_revert \
	tests/unit/provision/test_reconcile_salvage \
	tests/unit/provision/test_reconcile_snapshots \
	tests/unit/provision/test_reconcile_walk \
	tests/unit/provision/test_replica_placement \
	tests/unit/provision/test_replica_pool \
	tests/unit/provision/test_replica_space \
	tests/unit/provision/test_revert_walk \
	tests/unit/provision/test_schema \
	tests/unit/provision/test_takeover \
	tests/unit/provision/test_volume_config_snapshot \
	tests/unit/provision/test_volume_health
endif
