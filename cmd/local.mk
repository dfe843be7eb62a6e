scoria_SOURCES += \
	cmd/api.c cmd/command.h cmd/compute.c cmd/manage.c cmd/manage.h cmd/manage_check.c cmd/manage_db.c \
	cmd/manage_drivers.c cmd/manage_operations.c cmd/manage_routes.c cmd/manager.c \
	cmd/messaging.c cmd/messaging.h cmd/options.c cmd/parts.c cmd/parts.h cmd/run.c \
	cmd/scoria.c cmd/serve.c
