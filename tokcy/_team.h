/* What a thread does that waits for another. */
#ifndef TOKCY_TEAM_H
#define TOKCY_TEAM_H

/* `tk_pause` takes some ten nanoseconds, and `tk_rest` as long as is good when another thread may
 * need the core. */
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
static void tk_pause(void) { YieldProcessor(); }
static void tk_rest(void) { SwitchToThread(); }
#else
#include <time.h>
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
