libscoria_a_SOURCES += \
	manager/check/attachments.c \
	manager/check/check.c manager/check/check.h manager/check/check.private.h \
	manager/check/documents.c \
	manager/check/drafts.c \
	manager/check/group_snapshots.c \
	manager/check/groups.c \
	manager/check/hosts.c \
	manager/check/replicas.c \
	manager/check/round.c \
	manager/check/snapshots.c \
	manager/import/cinder.c manager/import/cinder.h \
	manager/import/cinder_tables.c manager/import/cinder_tables.h \
	manager/import/import.c manager/import/import.h \
	manager/import/import_backend.c manager/import/import_backend.h \
	manager/import/mariadb.c manager/import/mariadb.h \
	manager/import/source.c manager/import/source.h \
	manager/import/source_table.c manager/import/source_table.h \
	manager/jobs/assist.c \
	manager/jobs/connect.c \
	manager/jobs/create.c \
	manager/jobs/disconnect.c \
	manager/jobs/event.c manager/jobs/event.h \
	manager/jobs/extend.c \
	manager/jobs/group_snapshots.c \
	manager/jobs/image.c manager/jobs/image.h \
	manager/jobs/image_source.c manager/jobs/image_source.h \
	manager/jobs/manage.c \
	manager/jobs/manageable.c \
	manager/jobs/reclaim.c \
	manager/jobs/reimage.c \
	manager/jobs/rename.c \
	manager/jobs/revert.c \
	manager/jobs/snapshot_delete.c \
	manager/jobs/trim.c \
	manager/jobs/unwanted.c \
	manager/jobs/upload.c \
	manager/jobs/upload_clone.c \
	manager/jobs/upload_clone.h \
	manager/jobs/volume.c \
	manager/runtime/call.c manager/runtime/call.h \
	manager/runtime/host.c manager/runtime/host.h \
	manager/runtime/job.c manager/runtime/job.h \
	manager/runtime/job_fence.c \
	manager/runtime/job_run.c \
	manager/runtime/known.c manager/runtime/known.h \
	manager/runtime/taken.c manager/runtime/taken.h \
	manager/runtime/manager.c manager/runtime/manager.h \
	manager/runtime/overtake.c manager/runtime/overtake.h \
	manager/runtime/recount.c manager/runtime/recount.h \
	manager/runtime/report.c manager/runtime/report.h \
	manager/runtime/settings.h \
	manager/runtime/state.private.h \
	manager/runtime/unserved.c manager/runtime/unserved.h

if HAVE_CHECK
slow_tests += tests/unit/manager/jobs/test_assist
check_PROGRAMS += \
	tests/unit/manager/check/test_check \
	tests/unit/manager/jobs/test_extend \
	tests/unit/manager/jobs/test_image_cache \
	tests/unit/manager/jobs/test_image_signature \
	tests/unit/manager/jobs/test_larger_image \
	tests/unit/manager/jobs/test_late_assist \
	tests/unit/manager/jobs/test_late_copies \
	tests/unit/manager/jobs/test_late_delete \
	tests/unit/manager/jobs/test_late_manage \
	tests/unit/manager/jobs/test_reimage \
	tests/unit/manager/jobs/test_steps \
	tests/unit/manager/jobs/test_upload \
	tests/unit/manager/jobs/test_upload_clone \
	tests/unit/manager/runtime/test_busy \
	tests/unit/manager/runtime/test_call \
	tests/unit/manager/runtime/test_fencing \
	tests/unit/manager/runtime/test_hanging \
	tests/unit/manager/runtime/test_log \
	tests/unit/manager/runtime/test_queue \
	tests/unit/manager/runtime/test_taken
endif
