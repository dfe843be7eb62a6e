libscoria_a_SOURCES += \
	replication/engine/daemon.c replication/engine/daemon.h \
	replication/engine/daemon_environment.c replication/engine/daemon_environment.h replication/engine/daemon_release.h \
	replication/engine/deadline.c replication/engine/deadline.h \
	replication/engine/epoch.c replication/engine/epoch.h \
	replication/engine/file_node.c replication/engine/file_node.h \
	replication/engine/generation.c replication/engine/generation.h \
	replication/engine/job_states.c replication/engine/job_states.h \
	replication/engine/justify.c replication/engine/justify.h \
	replication/engine/member_states.c replication/engine/member_states.h \
	replication/engine/nbd_client.c replication/engine/nbd_client.h \
	replication/engine/qmp.c replication/engine/qmp.h \
	replication/engine/quorum.c replication/engine/quorum.h \
	replication/engine/relay.c replication/engine/relay.h \
	replication/engine/replica.c replication/engine/replica.h replication/engine/replica.private.h \
	replication/engine/replica_directory.c \
	replication/engine/replica_access.h replication/engine/replica_local.c \
	replication/engine/replica_reclaim.c replication/engine/replica_reclaim.h \
	replication/engine/replica_epoch.c replication/engine/replica_epoch.h \
	replication/engine/replica_snapshot.c replication/engine/replica_snapshot.h \
	replication/engine/replica_state.c \
	replication/engine/target.c replication/engine/target.h replication/engine/target.private.h replication/engine/target_phases.c replication/engine/target_phases.h \
	replication/engine/target_daemon.c replication/engine/target_events.c replication/engine/target_file.c replication/engine/target_graph.c replication/engine/target_job.c replication/engine/target_logs.c replication/engine/target_logs_decision.c replication/engine/target_member.c \
	replication/engine/target_rebuild.c replication/engine/target_revert.c \
	replication/engine/target_repair.c replication/engine/target_recovery.c replication/engine/target_replicas.c replication/engine/target_scale.c replication/engine/target_scrub.c replication/engine/target_serve.c \
	replication/engine/target_snapshot.c replication/engine/target_state.c replication/engine/target_watch.c \
	replication/engine/write_log.c replication/engine/write_log.h replication/engine/write_log_format.h replication/engine/write_log_shared.h \
	replication/node/agent.c replication/node/agent.h \
	replication/node/assignment.c replication/node/assignment.h \
	replication/node/assignment_informer.c replication/node/assignment_informer.h \
	replication/node/assignment_watches.c replication/node/assignment_watches.h \
	replication/node/client_exports.c replication/node/client_exports.h \
	replication/node/device_export.c replication/node/device_export.h \
	replication/node/controller_exports.c \
	replication/node/controller_jobs.c \
	replication/node/controller_rebuild.c \
	replication/node/controller_recovery.c \
	replication/node/controller_report.c \
	replication/node/controller_revert.c \
	replication/node/controller_scrub.c \
	replication/node/controller_snapshots.c \
	replication/node/controller_states.c replication/node/controller_states.h \
	replication/node/controller_target.c \
	replication/node/controller_unresponsive.c \
	replication/node/controller_work.c \
	replication/node/forced_recovery.c replication/node/forced_recovery.h \
	replication/node/health_probes.c replication/node/health_probes.h \
	replication/node/instance.c replication/node/instance.h \
	replication/node/local_replica.c replication/node/local_replica.h \
	replication/node/manifest.c replication/node/manifest.h \
	replication/node/nbd_server.c replication/node/nbd_server.h \
	replication/node/options.c \
	replication/node/pool_calls.c replication/node/pool_calls.h \
	replication/node/pool_lock.c replication/node/pool_lock.h \
	replication/node/pool_states.c replication/node/pool_states.h \
	replication/node/pool_status.c replication/node/pool_status.h \
	replication/node/pools.c replication/node/pools.h \
	replication/node/rebuild_failures.c replication/node/rebuild_failures.h \
	replication/node/rebuild_slots.c replication/node/rebuild_slots.h \
	replication/node/reclaim.c replication/node/reclaim.h \
	replication/node/reclaim_jobs.c replication/node/reclaim_jobs.h \
	replication/node/remote.c replication/node/remote.h \
	replication/node/replica_calls.c replication/node/replica_calls.h \
	replication/node/replica_client.c replication/node/replica_client.h \
	replication/node/replica_index.c replication/node/replica_index.h \
	replication/node/replica_service.c replication/node/replica_service.h \
	replication/node/replica_snapshots.c replication/node/replica_snapshots.h \
	replication/node/replicas.c replication/node/replicas.h \
	replication/node/reports.c replication/node/reports.h \
	replication/node/session_reaper.c replication/node/session_reaper.h \
	replication/node/sessions.c replication/node/sessions.h \
	replication/node/snapshot_copier.c replication/node/snapshot_copier.h \
	replication/node/state_tables.c replication/node/state_tables.h \
	replication/node/target_health.c replication/node/target_health.h \
	replication/node/target_text.c replication/node/target_text.h \
	replication/node/targets.c replication/node/targets.h \
	replication/node/tls_directory.c replication/node/tls_directory.h \
	replication/node/unresponsive.c replication/node/unresponsive.h \
	replication/node/volume_controller.c replication/node/volume_controller.h replication/node/volume_controller.private.h

# It is loaded into a program that has no sanitizers, whatever ours has.
preload_sources = $(srcdir)/replication/engine/daemon_preload.c $(srcdir)/replication/engine/daemon_preload_wakes.c \
	$(srcdir)/replication/engine/daemon_preload_writes.c $(srcdir)/replication/engine/daemon_release.c $(srcdir)/replication/engine/daemon_trim.c
replication/engine/daemon_preload.so: $(preload_sources) $(srcdir)/replication/engine/write_log_format.h $(srcdir)/replication/engine/write_log_shared.h \
	$(srcdir)/replication/engine/daemon_release.h
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(DEFS) $(DEFAULT_INCLUDES) -D_GNU_SOURCE= -std=gnu11 $(WARNING_FLAGS) -O2 \
		-shared -fPIC -o $@.new $(preload_sources) -ldl && mv $@.new $@
replication/engine/daemon_environment.$(OBJEXT): replication/engine/daemon_preload.so
CLEANFILES += replication/engine/daemon_preload.so

EXTRA_DIST += replication/engine/daemon_preload.c replication/engine/daemon_preload_wakes.c \
	replication/engine/daemon_preload_writes.c replication/engine/daemon_release.c replication/engine/daemon_trim.c \
	tests/unit/replication/engine/target_test.h tests/unit/replication/node/storage_test.h

if HAVE_CHECK
slow_tests += \
	tests/unit/replication/engine/test_daemon_preload \
	tests/unit/replication/engine/test_daemon_writes \
	tests/unit/replication/engine/test_target \
	tests/unit/replication/engine/test_target_adopt \
	tests/unit/replication/engine/test_target_daemon \
	tests/unit/replication/engine/test_target_refusals \
	tests/unit/replication/engine/test_target_epoch \
	tests/unit/replication/engine/test_target_remote \
	tests/unit/replication/engine/test_target_faults \
	tests/unit/replication/engine/test_target_file \
	tests/unit/replication/engine/test_target_logs \
	tests/unit/replication/engine/test_target_pools \
	tests/unit/replication/engine/test_target_revert \
	tests/unit/replication/engine/test_target_recovery \
	tests/unit/replication/engine/test_target_scale \
	tests/unit/replication/engine/test_target_scrub \
	tests/unit/replication/engine/test_target_snapshot \
	tests/unit/replication/engine/test_target_probes \
	tests/unit/replication/node/test_client_exports \
	tests/unit/replication/node/test_replica_service \
	tests/unit/replication/node/test_session_tls \
	tests/unit/replication/node/test_targets
check_PROGRAMS += \
	tests/unit/replication/engine/test_deadline \
	tests/unit/replication/engine/test_generation \
	tests/unit/replication/engine/test_job_states \
	tests/unit/replication/engine/test_justify \
	tests/unit/replication/engine/test_member_states \
	tests/unit/replication/engine/test_qmp \
	tests/unit/replication/engine/test_quorum \
	tests/unit/replication/engine/test_quorum_epochs \
	tests/unit/replication/engine/test_quorum_worlds \
	tests/unit/replication/engine/test_vote_worlds \
	tests/unit/replication/engine/test_quorum_walk \
	tests/unit/replication/engine/test_target_state \
	tests/unit/replication/engine/test_replica \
	tests/unit/replication/engine/test_replica_reclaim \
	tests/unit/replication/engine/test_replica_epoch \
	tests/unit/replication/engine/test_target_phases \
	tests/unit/replication/engine/test_write_log \
	tests/unit/replication/node/test_assignment \
	tests/unit/replication/node/test_assignment_informer \
	tests/unit/replication/node/test_controller_states \
	tests/unit/replication/node/test_forced_recovery \
	tests/unit/replication/node/test_health_probes \
	tests/unit/replication/node/test_local_replica \
	tests/unit/replication/node/test_pool_calls \
	tests/unit/replication/node/test_pool_lock \
	tests/unit/replication/node/test_pool_states \
	tests/unit/replication/node/test_pools \
	tests/unit/replication/node/test_rebuild_failures \
	tests/unit/replication/node/test_reclaim \
	tests/unit/replication/node/test_reports \
	tests/unit/replication/node/test_target_health \
	tests/unit/replication/node/test_tls_directory
endif
