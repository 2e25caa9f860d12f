/* Finding and executing argv[0]. */
#ifndef BAILIFF_PROGRAM_H
#define BAILIFF_PROGRAM_H

/*
 * Replaces this process, or returns with errno set. A name with '/' is used as it is; any other name is looked up in
 * a fixed list of system directories, never in the environment's PATH and never in the current directory. No shell is
 * ever tried.
 */
void program_exec(char *const argv[], char *const envp[]);

#endif
