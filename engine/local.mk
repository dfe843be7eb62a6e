libscoria_a_SOURCES += \
	engine/daemon.c engine/daemon.h \
	engine/daemon_environment.c engine/daemon_environment.h engine/daemon_release.h \
	engine/epoch.c engine/epoch.h \
	engine/file_node.c engine/file_node.h \
	engine/generation.c engine/generation.h \
	engine/justify.c engine/justify.h \
	engine/nbd_client.c engine/nbd_client.h \
	engine/qmp.c engine/qmp.h \
	engine/quorum.c engine/quorum.h \
	engine/relay.c engine/relay.h \
	engine/replica.c engine/replica.h engine/replica.private.h \
	engine/replica_access.h engine/replica_here.c \
	engine/replica_dig.c engine/replica_dig.h \
	engine/replica_epoch.c engine/replica_epoch.h \
	engine/replica_sums.c engine/replica_sums.h \
	engine/replica_snapshot.c engine/replica_snapshot.h \
	engine/replica_state.c \
	engine/target.c engine/target.h engine/target.private.h \
	engine/target_file.c engine/target_graph.c engine/target_logs.c engine/target_member.c \
	engine/target_rebuild.c engine/target_revert.c \
	engine/target_repair.c engine/target_salvage.c engine/target_scale.c engine/target_scrub.c engine/target_serve.c \
	engine/target_snapshot.c engine/target_state.c engine/target_watch.c \
	engine/write_log.c engine/write_log.h engine/write_log_format.h

# It is loaded into a program that has no sanitizers, whatever ours has.
preload_sources = $(srcdir)/engine/daemon_preload.c $(srcdir)/engine/daemon_preload_writes.c \
	$(srcdir)/engine/daemon_release.c
engine/daemon_preload.so: $(preload_sources) $(srcdir)/engine/write_log_format.h $(srcdir)/engine/daemon_release.h
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(DEFS) $(DEFAULT_INCLUDES) -D_GNU_SOURCE= -std=gnu11 $(WARNING_FLAGS) -O2 \
		-shared -fPIC -o $@.new $(preload_sources) -ldl && mv $@.new $@
engine/daemon_environment.$(OBJEXT): engine/daemon_preload.so
CLEANFILES += engine/daemon_preload.so

EXTRA_DIST += engine/daemon_preload.c engine/daemon_preload_writes.c engine/daemon_release.c tests/unit/engine/target_test.h

if HAVE_CHECK
slow_tests += \
	tests/unit/engine/test_daemon_preload \
	tests/unit/engine/test_daemon_writes \
	tests/unit/engine/test_target \
	tests/unit/engine/test_target_adopt \
	tests/unit/engine/test_target_daemon \
	tests/unit/engine/test_target_doubt \
	tests/unit/engine/test_target_epoch \
	tests/unit/engine/test_target_far \
	tests/unit/engine/test_target_faults \
	tests/unit/engine/test_target_file \
	tests/unit/engine/test_target_logs \
	tests/unit/engine/test_target_pools \
	tests/unit/engine/test_target_revert \
	tests/unit/engine/test_target_salvage \
	tests/unit/engine/test_target_scale \
	tests/unit/engine/test_target_scrub \
	tests/unit/engine/test_target_snapshot \
	tests/unit/engine/test_target_unseen
check_PROGRAMS += \
	tests/unit/engine/test_generation \
	tests/unit/engine/test_justify \
	tests/unit/engine/test_qmp \
	tests/unit/engine/test_quorum \
	tests/unit/engine/test_quorum_epochs \
	tests/unit/engine/test_quorum_worlds \
	tests/unit/engine/test_quorum_walk \
	tests/unit/engine/test_replica \
	tests/unit/engine/test_replica_dig \
	tests/unit/engine/test_replica_epoch \
	tests/unit/engine/test_write_log
endif
