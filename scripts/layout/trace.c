/* Prints which functions of a program run, in order of their first run (x86_64 only).
 *
 *     trace ADDRESSES RESULT PROGRAM [ARGUMENT...]
 *
 * ADDRESSES has a hexadecimal address a line, as in the program's file; RESULT gets those that ran. A breakpoint is at
 * each, and goes when it is first hit, so the program is as fast as without, but for one stop per function. Threads,
 * children, and children that execute the program again are followed: ptrace(2). SIGTERM and SIGINT go to the program,
 * and its exit status becomes this one's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ADDRESSES_MAX = 1 << 17, TASKS_MAX = 1 << 14, BREAKPOINT = 0xcc };

/* A thread or process. `base` is where the program is in its memory, 0 if it runs another one. */
struct task {
    pid_t number;
    unsigned long base;
    int memory;
};

static unsigned long addresses[ADDRESSES_MAX];
static unsigned char before[ADDRESSES_MAX], has_run[ADDRESSES_MAX];
static size_t count;
static struct task tasks[TASKS_MAX];
static int tasks_count;
static struct stat program;
static pid_t first;

static void fail(const char *what)
{
    perror(what);
    if (first > 0)
        kill(first, SIGKILL);
    exit(99);
}

static struct task *task_of(pid_t number)
{
    for (int i = 0; i < tasks_count; i++)
        if (tasks[i].number == number)
            return &tasks[i];
    if (tasks_count == TASKS_MAX)
        fail("too many tasks");
    tasks[tasks_count] = (struct task){number, 0, -1};
    return &tasks[tasks_count++];
}

static void forget(pid_t number)
{
    struct task *task = task_of(number);
    if (task->memory >= 0)
        close(task->memory);
    *task = tasks[--tasks_count];
}

static int compare(const void *left, const void *right)
{
    unsigned long a = *(const unsigned long *)left, b = *(const unsigned long *)right;
    return (a > b) - (a < b);
}

/* Where the program's file begins in the memory of a task. */
static unsigned long base_of(pid_t number)
{
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/%d/maps", number);
    FILE *maps = fopen(path, "r");
    unsigned long base = 0;
    while (maps && !base && fgets(line, sizeof line, maps)) {
        unsigned long start, offset, inode;
        if (sscanf(line, "%lx-%*x %*s %lx %*s %lu", &start, &offset, &inode) == 3 && inode == program.st_ino && !offset)
            base = start;
    }
    if (maps)
        fclose(maps);
    return base;
}

static int memory_of(struct task *task)
{
    if (task->memory < 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/mem", task->number);
        task->memory = open(path, O_RDWR | O_CLOEXEC);
    }
    return task->memory;
}

/* Sets all breakpoints in a task that has just begun to execute a program. */
static void plant(struct task *task, int is_first)
{
    if (task->memory >= 0)
        close(task->memory);
    task->memory = -1;
    task->base = base_of(task->number);
    if (!task->base)
        return;
    unsigned char byte = BREAKPOINT;
    for (size_t i = 0; i < count; i++) {
        if (is_first && pread(memory_of(task), &before[i], 1, (off_t)(task->base + addresses[i])) != 1)
            fail("reading the program's memory");
        if (pwrite(memory_of(task), &byte, 1, (off_t)(task->base + addresses[i])) != 1)
            fail("writing the program's memory");
    }
}

/* Takes away the breakpoint that a task has just hit. False if there is none. */
static int hit(struct task *task, FILE *result)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, task->number, 0, &registers) != 0)
        return 0;
    if (!task->base)
        task->base = base_of(task->number);
    unsigned long address = registers.rip - 1 - task->base;
    unsigned long *found = bsearch(&address, addresses, count, sizeof address, compare);
    if (!found)
        return 0;
    size_t i = (size_t)(found - addresses);
    if (!has_run[i])
        fprintf(result, "%lx\n", address);
    has_run[i] = 1;
    if (pwrite(memory_of(task), &before[i], 1, (off_t)(task->base + address)) != 1)
        return 0;
    registers.rip--;
    ptrace(PTRACE_SETREGS, task->number, 0, &registers);
    return 1;
}

/* Handles a stop; returns the signal to go on with. */
static int stopped(pid_t number, int status, FILE *result)
{
    struct task *task = task_of(number);
    int event = status >> 16, signal_number = WSTOPSIG(status);
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
        unsigned long child = 0, base = task->base;
        ptrace(PTRACE_GETEVENTMSG, number, 0, &child);
        task_of((pid_t)child)->base = base;
        return 0;
    }
    if (event == PTRACE_EVENT_EXEC)
        plant(task, 0);
    if (event)
        return 0;
    if (signal_number == SIGTRAP) {
        hit(task, result);
        return 0;
    }
    /* Each new task begins with a stop. */
    return signal_number == SIGSTOP ? 0 : signal_number;
}

static void pass_on(int signal_number)
{
    if (first > 0)
        kill(first, signal_number);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    FILE *list = fopen(argv[1], "r"), *result = fopen(argv[2], "ae");
    if (!list || !result || stat(argv[3], &program) != 0)
        fail(argv[1]);
    while (count < ADDRESSES_MAX && fscanf(list, "%lx", &addresses[count]) == 1)
        count++;
    fclose(list);
    qsort(addresses, count, sizeof *addresses, compare);
    setvbuf(result, NULL, _IOLBF, 0);

    first = fork();
    if (first == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[3], argv + 3);
        _exit(127);
    }
    signal(SIGTERM, pass_on);
    signal(SIGINT, pass_on);
    int status;
    if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status))
        fail(argv[3]);
    ptrace(PTRACE_SETOPTIONS, first, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC);
    plant(task_of(first), 1);
    ptrace(PTRACE_CONT, first, 0, 0);

    int code = 0;
    for (;;) {
        pid_t number = waitpid(-1, &status, __WALL);
        if (number < 0 && errno == EINTR)
            continue;
        if (number < 0)
            return code;
        if (WIFSTOPPED(status)) {
            int signal_number = stopped(number, status, result);
            ptrace(PTRACE_CONT, number, 0, signal_number);
            continue;
        }
        if (number == first)
            code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        forget(number);
    }
}
