#include "tests/sim/fiber.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Stacks change without a call: the sanitizer is notified. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(save, bottom, size) ((void)(save))
#define __sanitizer_finish_switch_fiber(save, bottom, size) \
    ((void)(save), (void)(bottom), (void)(size))
#endif

#define STACK_SIZE ((size_t)1 << 20)

struct fiber {
    ucontext_t context;
    char *stack;
    void *fake; /* the sanitizer's */
    void (*run)(void *arg);
    void *arg;
    bool ended;
    struct fiber *next; /* among those that wait to be used again */
};

static struct fiber *running, *spare;
static ucontext_t resumer;
static const void *resumer_stack;
static size_t resumer_size;

static void leave(struct fiber *fiber) {
    running = NULL;
    __sanitizer_start_switch_fiber(fiber->ended ? NULL : &fiber->fake, resumer_stack, resumer_size);
    swapcontext(&fiber->context, &resumer);
    __sanitizer_finish_switch_fiber(fiber->fake, &resumer_stack, &resumer_size);
}

static void start(void) {
    struct fiber *fiber = running;

    __sanitizer_finish_switch_fiber(NULL, &resumer_stack, &resumer_size);
    fiber->run(fiber->arg);
    fiber->ended = true;
    leave(fiber);
    abort();
}

struct fiber *fiber_new(void (*run)(void *arg), void *arg) {
    struct fiber *fiber = spare ? spare : calloc(1, sizeof *fiber);

    assert(fiber);
    if (spare)
        spare = fiber->next;
    if (!fiber->stack)
        fiber->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(fiber->stack != MAP_FAILED);
    *fiber = (struct fiber){ .stack = fiber->stack, .run = run, .arg = arg };
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = STACK_SIZE;
    makecontext(&fiber->context, start, 0);
    return fiber;
}

bool fiber_resume(struct fiber *fiber) {
    void *fake = NULL;

    assert(!running);
    running = fiber;
    __sanitizer_start_switch_fiber(&fake, fiber->stack, STACK_SIZE);
    swapcontext(&resumer, &fiber->context);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
    if (!fiber->ended)
        return true;
    fiber->next = spare;
    spare = fiber;
    return false;
}

void fiber_yield(void) {
    assert(running);
    leave(running);
}

struct fiber *fiber_running(void) {
    return running;
}
