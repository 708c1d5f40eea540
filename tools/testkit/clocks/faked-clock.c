/*
 * Preloaded into a server: takes the time of day from the file that FAKED_CLOCK names, which holds one number twice, so
 * that a half-written one is noticed. The number is microseconds, doubled: since 1970 where it is odd, and the clock
 * stands still; to be added to the machine's clock where it is even. libfaketime cannot do it, because it hangs below
 * jemalloc. Needs no header, and takes nothing from the heap. CLOCK_GETTIME is the number of the system call.
 */
struct when {
  long seconds, part;
};
extern char *getenv(const char *);
extern long syscall(long, ...);
extern int open(const char *, int, ...);
extern int close(int);
extern void *mmap(void *, unsigned long, int, int, int, long);

/* Mapped once: a server asks for the time several times in each command. */
static volatile long *mapped(void) {
  static volatile long *page;
  if (!page) {
    const char *path = getenv("FAKED_CLOCK");
    int file = path ? open(path, 0) : -1;
    void *found = file < 0 ? (void *)-1 : mmap(0, 16, 1, 1, file, 0);
    if (file >= 0) close(file);
    if (found == (void *)-1) return 0;
    page = found;
  }
  return page;
}

static long number(void) {
  volatile long *page = mapped();
  long first, second;
  if (!page) return 0;
  /* Written from front to back, so read from back to front. */
  do {
    second = page[1];
    first = page[0];
  } while (first != second);
  return first;
}

int clock_gettime(int clock, struct when *now) {
  /* CLOCK_REALTIME and its coarse form; clocks that only measure go on as they are. */
  int isDay = clock == 0 || clock == 5;
  long set = isDay ? number() : 0, microseconds = set >> 1;
  if (set & 1) {
    now->seconds = microseconds / 1000000;
    now->part = microseconds % 1000000 * 1000;
    return 0;
  }
  long failed = syscall(CLOCK_GETTIME, (long)clock, now);
  if (!failed && set) {
    microseconds += now->part / 1000;
    now->seconds += microseconds / 1000000 - (microseconds % 1000000 < 0);
    now->part = (microseconds % 1000000 + 1000000) % 1000000 * 1000;
  }
  return (int)failed;
}

int gettimeofday(struct when *now, void *zone) {
  int failed = clock_gettime(0, now);
  (void)zone;
  now->part /= 1000;
  return failed;
}

long time(long *out) {
  struct when now;
  clock_gettime(0, &now);
  if (out) *out = now.seconds;
  return now.seconds;
}
