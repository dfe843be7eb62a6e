libscoria_a_SOURCES += \
	json/field.c json/field.h \
	json/field_schema.c json/field_schema.h \
	json/json.c json/json.h \
	json/out.c json/out.h \
	json/span.c json/span.h \
	json/word.c json/word.h \
	json/yaml.c json/yaml.h \
	json/yaml_print.c json/yaml_print.h

if HAVE_CHECK
check_PROGRAMS += \
	tests/unit/json/test_field \
	tests/unit/json/test_field_schema \
	tests/unit/json/test_json \
	tests/unit/json/test_out \
	tests/unit/json/test_span \
	tests/unit/json/test_yaml \
	tests/unit/json/test_yaml_print
endif
