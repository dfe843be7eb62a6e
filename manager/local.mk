libscoria_a_SOURCES += \
	manager/assist_job.c \
	manager/call.c \
	manager/call.h \
	manager/check.c \
	manager/check.h \
	manager/check.private.h \
	manager/check_attachments.c \
	manager/check_documents.c \
	manager/check_replicas.c \
	manager/check_groups.c \
	manager/check_hosts.c \
	manager/check_group_snapshots.c \
	manager/check_drafts.c \
	manager/check_snapshots.c \
	manager/connect_job.c \
	manager/create_jobs.c \
	manager/disconnect_job.c \
	manager/event.c \
	manager/event.h \
	manager/extend_job.c \
	manager/group_snapshot_jobs.c \
	manager/host.c \
	manager/host.h \
	manager/job.c \
	manager/job.h \
	manager/job_run.c \
	manager/known.c \
	manager/known.h \
	manager/manage_jobs.c \
	manager/manageable_job.c \
	manager/manager.c \
	manager/manager.h \
	manager/reclaim_job.c \
	manager/overtake.c manager/overtake.h \
	manager/rename_job.c \
	manager/recount.c manager/recount.h \
	manager/report.c \
	manager/report.h \
	manager/revert_job.c \
	manager/settings.h \
	manager/snapshot_delete_job.c \
	manager/state.private.h \
	manager/trim_job.c \
	manager/unserved.c manager/unserved.h \
	manager/volume_jobs.c

if HAVE_CHECK
slow_tests += tests/unit/manager/test_assist_job
check_PROGRAMS += \
	tests/unit/manager/test_call \
	tests/unit/manager/test_check \
	tests/unit/manager/test_extend_job \
	tests/unit/manager/test_fencing \
	tests/unit/manager/test_busy \
	tests/unit/manager/test_hanging \
	tests/unit/manager/test_larger_image \
	tests/unit/manager/test_late_assist \
	tests/unit/manager/test_late_copies \
	tests/unit/manager/test_late_delete \
	tests/unit/manager/test_late_manage \
	tests/unit/manager/test_log \
	tests/unit/manager/test_queue \
	tests/unit/manager/test_steps
endif
