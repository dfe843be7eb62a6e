# All but main(), so that tests can have them.
noinst_LIBRARIES += libcmd.a
libcmd_a_SOURCES = \
	cmd/awaited.c cmd/awaited.h cmd/command.h cmd/commands.c cmd/drivers.c cmd/drivers.h cmd/document_print.c cmd/document_print.h cmd/line.c cmd/line.h cmd/manage.c cmd/manage.h cmd/manage_check.c \
	cmd/manage_db.c cmd/manage_documents.c cmd/manage_drain.c cmd/manage_drivers.c cmd/manage_host.c cmd/manage_import.c cmd/manage_operations.c cmd/manage_routes.c \
	cmd/manage_talk.c cmd/manage_talk.h cmd/manage_watch.c \
	cmd/messaging.c cmd/messaging.h cmd/notify.c cmd/notify.h cmd/options.c cmd/part.h \
	cmd/part_address.c cmd/part_agent.c cmd/part_api.c cmd/part_controller.c cmd/part_csi.c cmd/part_end.c cmd/part_kubernetes.c cmd/part_listener.c cmd/part_manager.c cmd/part_messages.c \
	cmd/part_storage.c cmd/part_store.c cmd/parts.c cmd/parts.h cmd/plain_text.c cmd/plain_text.h cmd/program.c cmd/program.h cmd/role.h cmd/run.c \
	cmd/table.c cmd/table.h \
	cmd/usage.c cmd/usage.h
scoria_SOURCES += cmd/scoria.c

if HAVE_CHECK
check_PROGRAMS += tests/unit/cmd/test_awaited tests/unit/cmd/test_import tests/unit/cmd/test_line tests/unit/cmd/test_manage tests/unit/cmd/test_notify \
	tests/unit/cmd/test_role tests/unit/cmd/test_table tests/unit/cmd/test_usage
tests_unit_cmd_test_awaited_SOURCES = tests/unit/cmd/test_awaited.c
tests_unit_cmd_test_import_SOURCES = tests/unit/cmd/test_import.c tests/unit/cmd/cmd_test.h
tests_unit_cmd_test_line_SOURCES = tests/unit/cmd/test_line.c
tests_unit_cmd_test_manage_SOURCES = tests/unit/cmd/test_manage.c tests/unit/cmd/cmd_test.h
tests_unit_cmd_test_notify_SOURCES = tests/unit/cmd/test_notify.c
tests_unit_cmd_test_role_SOURCES = tests/unit/cmd/test_role.c tests/unit/cmd/cmd_test.h
tests_unit_cmd_test_table_SOURCES = tests/unit/cmd/test_table.c
tests_unit_cmd_test_usage_SOURCES = tests/unit/cmd/test_usage.c tests/unit/cmd/cmd_test.h
endif
