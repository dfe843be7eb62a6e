scoria_SOURCES += \
	cmd/api.c cmd/command.h cmd/compute.c cmd/manage.c cmd/manage.h cmd/manage_check.c cmd/manage_db.c \
	cmd/manage_drivers.c cmd/manage_operations.c cmd/manage_routes.c cmd/manager.c \
	cmd/messaging.c cmd/messaging.h cmd/notify.c cmd/notify.h cmd/options.c cmd/parts.c \
	cmd/parts.h cmd/run.c \
	cmd/scoria.c cmd/serve.c cmd/usage.c cmd/usage.h

# Not in the library: the tests that need them name the files.
if HAVE_CHECK
check_PROGRAMS += tests/unit/cmd/test_notify
tests_unit_cmd_test_notify_SOURCES = tests/unit/cmd/test_notify.c cmd/notify.c cmd/notify.h
endif
