#include "tests/lib/check_main.h"

#include "compute/reviver.h"
#include "tests/lib/fake_hypervisor.h"

#include <time.h>

#define ONE   "11111111-1111-4111-8111-111111111111"
#define OTHER "22222222-2222-4222-8222-222222222222"

/* Neither a hypervisor that is not there nor a guest that does not answer ends it. */
START_TEST(stopped_guests_are_looked_at_again_and_again) {
    const struct timespec pause = { .tv_nsec = 1000000 };
    struct fake_hypervisor *fake = fake_hypervisor_new();
    struct reviver *reviver;

    fake_hypervisor_add_instance(fake, ONE);
    fake_hypervisor_add_instance(fake, OTHER);
    fake_hypervisor_fail(fake, FAKE_LIST_STOPPED, ERROR_UNAVAILABLE, 2, false);
    fake_hypervisor_fail(fake, FAKE_GO_ON, ERROR_UNAVAILABLE, 1, false);
    reviver = reviver_new(fake_hypervisor_of(fake), 1);
    while (fake_hypervisor_count(fake, FAKE_GO_ON) < 6)
        nanosleep(&pause, NULL);
    reviver_free(reviver);
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_GO_ON) % 2, 0);
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_LIST_STOPPED),
                      2 + fake_hypervisor_count(fake, FAKE_GO_ON) / 2);
    fake_hypervisor_free(fake);
}
END_TEST

CHECK_MAIN("reviver", stopped_guests_are_looked_at_again_and_again)
