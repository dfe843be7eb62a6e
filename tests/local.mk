check_LIBRARIES += libtests.a
libtests_a_SOURCES = \
	tests/lib/answers.c tests/lib/answers.h \
	tests/lib/check_main.h \
	tests/lib/declared.h \
	tests/lib/checker.c tests/lib/checker.h \
	tests/lib/daemons.h \
	tests/lib/documents.h \
	tests/lib/exchange.c tests/lib/exchange.h \
	tests/lib/extend.h \
	tests/lib/other_manager.h \
	tests/lib/frozen_disk.h \
	tests/lib/groups.h \
	tests/lib/images.h \
	tests/lib/held_calls.h \
	tests/lib/hung_disk.h \
	tests/lib/reasons.h \
	tests/lib/small_disk.h \
	tests/lib/small_stack.h \
	tests/lib/snapshots.h \
	tests/lib/state_tables.c tests/lib/state_tables.h \
	tests/lib/work_test.h \
	tests/lib/database_text.c tests/lib/database_text.h \
	tests/lib/remote_certificates.h \
	tests/lib/remote_host.c tests/lib/remote_host.h \
	tests/lib/replica_requests.h \
	tests/lib/fault_io.c tests/lib/fault_io.h \
	tests/lib/fake_hypervisor.c tests/lib/fake_hypervisor.h \
	tests/lib/postgresql.c tests/lib/postgresql.h \
	tests/lib/memory_guests.c tests/lib/memory_guests.h \
	tests/lib/nbd.c tests/lib/nbd.h \
	tests/lib/nbd_server.c tests/lib/nbd_server.h \
	tests/lib/roles.c tests/lib/roles.h \
	tests/lib/script_keystone.c tests/lib/script_keystone.h \
	tests/lib/script_server.c tests/lib/script_server.h \
	tests/lib/signing.h \
	tests/lib/wall.h \
	tests/lib/world.c tests/lib/world.h
if HAVE_CSI
libtests_a_SOURCES += tests/lib/wire.c tests/lib/wire.h
endif

# make tests/sim/sim; ./test runs it with many seeds.
EXTRA_PROGRAMS += tests/sim/sim
tests_sim_sim_SOURCES = \
	tests/sim/assists.c \
	tests/sim/clients.c \
	tests/sim/compute.c tests/sim/compute.h \
	tests/sim/door.c \
	tests/sim/fiber.c tests/sim/fiber.h \
	tests/sim/guests.c \
	tests/sim/messages.c \
	tests/sim/model.c \
	tests/sim/nodes.c tests/sim/nodes.h \
	tests/sim/existing.c \
	tests/sim/group_snapshots.c \
	tests/sim/groups.c \
	tests/sim/moments.c \
	tests/sim/snapshots.c \
	tests/sim/strangers.c \
	tests/sim/sim.c tests/sim/sim.h
tests_sim_sim_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_monotonic_us -Wl,--wrap=clock_system

# make tests/rabbitmq/engine; tests/e2e/test_rabbitmq.py runs it against a broker.
if HAVE_RABBITMQ
if HAVE_CHECK
EXTRA_PROGRAMS += tests/rabbitmq/engine
tests_rabbitmq_engine_SOURCES = tests/rabbitmq/engine.c
endif
else
EXTRA_DIST += tests/rabbitmq/engine.c
endif

# Fuzz targets: with libFuzzer ./test links them by itself; this way they replay files.
fuzz_targets = \
	tests/fuzz/fuzz_domain_xml tests/fuzz/fuzz_envelope tests/fuzz/fuzz_json tests/fuzz/fuzz_option \
	tests/fuzz/fuzz_policy \
	tests/fuzz/fuzz_qemu_img tests/fuzz/fuzz_query tests/fuzz/fuzz_shares tests/fuzz/fuzz_signature
if HAVE_CSI
fuzz_targets += tests/fuzz/fuzz_csi_message tests/fuzz/fuzz_grpc_frames
tests_fuzz_fuzz_csi_message_SOURCES = tests/fuzz/fuzz_csi_message.c tests/fuzz/replay.c
tests_fuzz_fuzz_grpc_frames_SOURCES = tests/fuzz/fuzz_grpc_frames.c tests/fuzz/replay.c
endif
EXTRA_PROGRAMS += $(fuzz_targets)
tests_fuzz_fuzz_domain_xml_SOURCES = tests/fuzz/fuzz_domain_xml.c tests/fuzz/replay.c
tests_fuzz_fuzz_envelope_SOURCES = tests/fuzz/fuzz_envelope.c tests/fuzz/replay.c
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c tests/fuzz/replay.c
tests_fuzz_fuzz_option_SOURCES = tests/fuzz/fuzz_option.c tests/fuzz/replay.c
tests_fuzz_fuzz_policy_SOURCES = tests/fuzz/fuzz_policy.c tests/fuzz/replay.c
tests_fuzz_fuzz_qemu_img_SOURCES = tests/fuzz/fuzz_qemu_img.c tests/fuzz/replay.c
tests_fuzz_fuzz_query_SOURCES = tests/fuzz/fuzz_query.c tests/fuzz/replay.c
tests_fuzz_fuzz_shares_SOURCES = tests/fuzz/fuzz_shares.c tests/fuzz/replay.c
tests_fuzz_fuzz_signature_SOURCES = tests/fuzz/fuzz_signature.c tests/fuzz/replay.c

CLEANFILES += $(EXTRA_PROGRAMS)

EXTRA_DIST += \
	tests/conformance/cinder/make.py \
	tests/conformance/cinder/run \
	tests/conformance/csi \
	tests/conformance/kubernetes/claims.py \
	tests/conformance/kubernetes/cluster.py \
	tests/conformance/kubernetes/declared.py \
	tests/conformance/kubernetes/go.mod \
	tests/conformance/kubernetes/go.sum \
	tests/conformance/kubernetes/images.py \
	tests/conformance/kubernetes/kubelet.py \
	tests/conformance/kubernetes/livenessprobe/main.go \
	tests/conformance/kubernetes/mount.nfs \
	tests/conformance/kubernetes/node.py \
	tests/conformance/kubernetes/nodes.py \
	tests/conformance/kubernetes/programs.py \
	tests/conformance/kubernetes/recorder/main.go \
	tests/conformance/kubernetes/recording.py \
	tests/conformance/kubernetes/registrar/main.go \
	tests/conformance/kubernetes/run \
	tests/conformance/kubernetes/story.py \
	tests/conformance/kubernetes/tools.go \
	tests/conformance/left_out \
	tests/conformance/openstack/cloud.py \
	tests/conformance/openstack/dashboard.py \
	tests/conformance/openstack/horizon.py \
	tests/conformance/openstack/left_out \
	tests/conformance/openstack/mount.nfs \
	tests/conformance/openstack/nova-compute-with-completion \
	tests/conformance/openstack/run \
	tests/conformance/openstack/servers.py \
	tests/conformance/openstack/tempest_cases.py \
	tests/conformance/requirements.txt \
	tests/conformance/run \
	tests/conformance/tempest_worker.py \
	tests/conformance/worker \
	tests/cost/budget \
	tests/cost/counted.py \
	tests/cost/operations.py \
	tests/cost/run \
	tests/cost/traced.py \
	tests/coverage \
	tests/crash/broker \
	tests/crash/csi \
	tests/crash/postgresql \
	tests/crash/points \
	tests/crash/power \
	tests/crash/run \
	tests/e2e/run \
	tests/e2e/test_agent.py \
	tests/e2e/test_clients.py \
	tests/e2e/test_csi_fresh.py \
	tests/e2e/test_csi_names.py \
	tests/e2e/test_csi_node.py \
	tests/e2e/test_csi_policy.py \
	tests/e2e/test_csi_topology.py \
	tests/e2e/test_cluster.py \
	tests/e2e/test_conformity.py \
	tests/e2e/test_csi_controller.py \
	tests/e2e/test_documents.py tests/e2e/test_domains.py tests/e2e/test_watch.py \
	tests/e2e/test_overlays.py \
	tests/e2e/test_provisioning.py \
	tests/e2e/test_provisioning_snapshots.py \
	tests/e2e/test_provisioning_page.py \
	tests/e2e/test_replacement.py \
	tests/e2e/test_faults.py \
	tests/e2e/pages.py \
	tests/e2e/test_replicated.py \
	tests/e2e/test_reclaim.py \
	tests/e2e/test_hanging.py \
	tests/e2e/test_hosts.py \
	tests/e2e/test_images.py \
	tests/e2e/test_claim.py \
	tests/e2e/test_kubernetes.py \
	tests/e2e/test_devstack.py \
	tests/e2e/test_environment.py \
	tests/e2e/test_hostile.py \
	tests/e2e/test_postgresql.py \
	tests/e2e/test_rabbitmq.py \
	tests/e2e/test_keystone.py \
	tests/e2e/kubernetes/block.json \
	tests/e2e/kubernetes/filesystem.json \
	tests/e2e/test_roles.py \
	tests/e2e/test_full.py \
	tests/e2e/test_signatures.py \
	tests/e2e/test_steps.py \
	tests/e2e/test_tls.py \
	tests/e2e/test_trim.py \
	tests/e2e/test_upgrade.py \
	tests/fuzz/listeners \
	tests/lib/barbican.py \
	tests/lib/block_storage.py \
	tests/lib/byte_streams.py \
	tests/lib/case.py \
	tests/lib/certificates.py \
	tests/lib/clients.py \
	tests/lib/csi_call.py \
	tests/lib/csi_client.py \
	tests/lib/csi_demonstration.py \
	tests/lib/compute_side.py \
	tests/lib/corpus.py \
	tests/lib/demonstration.py \
	tests/lib/description.py \
	tests/lib/devstack.sh \
	tests/lib/devstack_doubles.sh \
	tests/lib/evidence.py \
	tests/lib/guest_system.py \
	tests/lib/hypervisor.py \
	tests/lib/glance.py \
	tests/lib/image_service.py \
	tests/lib/key_manager.py \
	tests/lib/keystone.py \
	tests/lib/nbd.py \
	tests/lib/libvirt_daemons.py \
	tests/lib/machine.py \
	tests/lib/manifests.py \
	tests/lib/mounts.py \
	tests/lib/openstack_service.py \
	tests/lib/oslo_peer.py \
	tests/lib/pauses.c \
	tests/lib/packages.sh \
	tests/lib/ports.py \
	tests/lib/postgresql.py \
	tests/lib/program.py \
	tests/lib/rabbitmq.py \
	tests/lib/previous.sh \
	tests/lib/setup.sh \
	tests/lib/signing.py \
	tests/lib/tsan.supp \
	tests/lib/wall.c \
	tests/lib/fault_disk.c \
	tests/nfs/run \
	tests/nfs/test_nfs.py

EXTRA_DIST += \
	tests/lint/calls.py \
	tests/lint/calls.sh \
	tests/lint/circles.sh \
	tests/lint/containerfile.py \
	tests/lint/containerfile.sh \
	tests/lint/cppcheck.sh \
	tests/lint/dist.sh \
	tests/lint/doors.sh \
	tests/lint/folders.sh \
	tests/lint/format.sh \
	tests/lint/generated.sh \
	tests/lint/headers.sh \
	tests/lint/language.py \
	tests/lint/language.sh \
	tests/lint/language_tests.py \
	tests/lint/layers.sh \
	tests/lint/links.sh \
	tests/lint/manifests.py \
	tests/lint/manifests.sh \
	tests/lint/quotes.py \
	tests/lint/quotes.sh \
	tests/lint/recursion.list \
	tests/lint/recursion.py \
	tests/lint/recursion.sh \
	tests/lint/removals.sh \
	tests/lint/requirements.py \
	tests/lint/requirements.sh \
	tests/lint/run.sh \
	tests/lint/scripts.sh \
	tests/lint/spelling.sh \
	tests/lint/splitting.py \
	tests/lint/splitting.sh \
	tests/lint/tidy.sh \
	tests/lint/words.sh
