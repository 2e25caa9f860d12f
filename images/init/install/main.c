/*
 * install DIRECTORY: copies bailiff-init into DIRECTORY, where an engine finds it.
 *
 * A container that runs keeps the file it started with: the new one takes its place by a rename, never half written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE "/bailiff-init"
#define NAME "bailiff-init"
#define NEXT ".bailiff-init.next"

static int fail(const char *what) {
  fprintf(stderr, "install: %s: %s\n", what, strerror(errno));
  return 1;
}

static int copy(int from, int to) {
  char buffer[65536];
  for (;;) {
    ssize_t length = read(from, buffer, sizeof buffer);
    if (length == 0) return 0;
    if (length < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    for (ssize_t done = 0; done < length;) {
      ssize_t written = write(to, buffer + done, (size_t)(length - done));
      if (written < 0) {
        if (errno == EINTR) continue;
        return -1;
      }
      done += written;
    }
  }
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: install DIRECTORY\n");
    return 2;
  }
  int source = open(SOURCE, O_RDONLY | O_CLOEXEC);
  if (source < 0) return fail(SOURCE);
  int directory = open(words[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return fail(words[1]);
  if (unlinkat(directory, NEXT, 0) != 0 && errno != ENOENT) return fail(NEXT);
  int target = openat(directory, NEXT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (target < 0) return fail(words[1]);
  if (copy(source, target) != 0) return fail("copying");
  if (fchmod(target, 0755) != 0 || fsync(target) != 0 || close(target) != 0) return fail(NEXT);
  if (renameat(directory, NEXT, directory, NAME) != 0) return fail(NAME);
  return 0;
}
