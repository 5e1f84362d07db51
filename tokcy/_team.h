/* What a thread does that waits for another. */
#ifndef TOKCY_TEAM_H
#define TOKCY_TEAM_H

/* `tk_pause` takes 10 to 50 nanoseconds. `tk_yield` lets a thread have the core that waits for one,
 * and takes half a microsecond where none does. `tk_rest` leaves the core idle: 20 µs by itself, 200
 * until a virtual machine has it back. */
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
static void tk_pause(void) { YieldProcessor(); }
static void tk_yield(void) { SwitchToThread(); }
static void tk_rest(void) { Sleep(1); }
#else
#include <sched.h>
#include <time.h>
static void tk_yield(void) { sched_yield(); }
static void tk_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
static void tk_rest(void) {
    struct timespec some = {0, 20000};
    nanosleep(&some, NULL);
}
#endif

#endif /* TOKCY_TEAM_H */
