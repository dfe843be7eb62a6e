csi_protos = csi/proto/csi.proto csi/proto/identity.proto csi/proto/reclaimspace.proto \
	csi/proto/volumegroup.proto
EXTRA_DIST += $(csi_protos)

if HAVE_CSI
# What protoc-c writes is compiled as it is.
noinst_LIBRARIES += libcsiproto.a
csi_sources = $(csi_protos:.proto=.pb-c.c)
csi_headers = $(csi_protos:.proto=.pb-c.h)
libcsiproto_a_SOURCES = csi/proto/proto.h
libcsiproto_a_CFLAGS = $(AM_CFLAGS) -w
nodist_libcsiproto_a_SOURCES = csi/proto/csi.pb-c.c csi/proto/identity.pb-c.c \
	csi/proto/reclaimspace.pb-c.c csi/proto/volumegroup.pb-c.c
BUILT_SOURCES += $(csi_headers)
CLEANFILES += $(csi_sources) $(csi_headers)

.proto.pb-c.c:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(PROTOC_C) -I$(top_srcdir) --c_out=$(top_builddir) $<
csi/proto/csi.pb-c.h: csi/proto/csi.pb-c.c
csi/proto/identity.pb-c.h: csi/proto/identity.pb-c.c
csi/proto/reclaimspace.pb-c.h: csi/proto/reclaimspace.pb-c.c
csi/proto/volumegroup.pb-c.h: csi/proto/volumegroup.pb-c.c
endif
