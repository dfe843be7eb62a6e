libscoria_a_SOURCES += \
	config/config.c config/config.h \
	config/host_name.c config/host_name.h \
	config/option.h \
	config/option_file.c config/option_file.private.h \
	config/option_list.c config/option_list.h \
	config/option_print.c \
	config/value.c config/value.private.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/config/test_config
endif
