libscoria_a_SOURCES += \
	storage/agent.c storage/agent.h \
	storage/connections.c storage/connections.h \
	storage/copies.c storage/copies.h \
	storage/digs.c storage/digs.h \
	storage/forced_recovery.c storage/forced_recovery.h \
	storage/gates.c storage/gates.h \
	storage/hanging.c storage/hanging.h \
	storage/held.c storage/held.h \
	storage/instance.c storage/instance.h \
	storage/keeper.c storage/keeper.h storage/keeper.private.h storage/keeper_mend.c \
	storage/keeper_gates.c storage/keeper_hang.c storage/keeper_revert.c storage/keeper_salvage.c storage/keeper_scrub.c \
	storage/keeper_paper.c storage/keeper_paper.h \
	storage/keeper_snapshots.c \
	storage/keeper_work.c \
	storage/knocks.c storage/knocks.h \
	storage/nbd_server.c storage/nbd_server.h \
	storage/near.c storage/near.h \
	storage/options.c \
	storage/places.c storage/places.h \
	storage/pool_calls.c storage/pool_calls.h \
	storage/pool_lock.c storage/pool_lock.h \
	storage/pool_look.c storage/pool_look.h \
	storage/pool_states.c storage/pool_states.h \
	storage/pools.c storage/pools.h \
	storage/rebuild_failures.c storage/rebuild_failures.h \
	storage/rebuilds.c storage/rebuilds.h \
	storage/remote.c storage/remote.h \
	storage/replica_calls.c storage/replica_calls.h \
	storage/replica_client.c storage/replica_client.h \
	storage/replica_service.c storage/replica_service.h \
	storage/replicas.c storage/replicas.h \
	storage/reports.c storage/reports.h \
	storage/room.c storage/room.h \
	storage/session_ends.c storage/session_ends.h \
	storage/sessions.c storage/sessions.h \
	storage/target_health.c storage/target_health.h \
	storage/target_text.c storage/target_text.h \
	storage/targets.c storage/targets.h \
	storage/tls_directory.c storage/tls_directory.h \
	storage/wanted.c storage/wanted.h \
	storage/watches.c storage/watches.h \
	storage/wish.c storage/wish.h

EXTRA_DIST += tests/unit/storage/storage_test.h

if HAVE_CHECK
slow_tests += tests/unit/storage/test_targets
slow_tests += tests/unit/storage/test_replica_service
slow_tests += tests/unit/storage/test_session_tls
slow_tests += tests/unit/storage/test_gates
check_PROGRAMS += \
	tests/unit/storage/test_forced_recovery \
	tests/unit/storage/test_knocks \
	tests/unit/storage/test_near \
	tests/unit/storage/test_pool_calls \
	tests/unit/storage/test_pool_lock \
	tests/unit/storage/test_pool_states \
	tests/unit/storage/test_pools \
	tests/unit/storage/test_rebuild_failures \
	tests/unit/storage/test_reports \
	tests/unit/storage/test_room \
	tests/unit/storage/test_target_health \
	tests/unit/storage/test_tls_directory \
	tests/unit/storage/test_wanted \
	tests/unit/storage/test_wish
endif
