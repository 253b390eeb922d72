/* PTX that a program loads is put through the program ptxopt first, if $PTXOPT_JIT has options for it. Nothing is
 * loaded in its place unless ptxopt has written it completely: the program must not notice a failure. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/preload.h"

enum { DEFAULT_LIMIT = 60, MOST_LIMIT = 86400 }; /* seconds that one module may take */
enum { REASON = 1024 };
static const size_t most_bytes = (size_t)1 << 30; /* of a file */

extern char **environ;

static void tell(const char *reason)
{
    const char *wanted = getenv("PTXOPT_LAUNCH_REPORT");
    if (wanted && *wanted)
        fprintf(stderr, "ptxopt: note: PTX is loaded as it is: %s\n", reason);
}

void jit_refused(int error)
{
    char reason[REASON];
    snprintf(reason, sizeof reason, "the driver refuses what ptxopt has made of it (error %d)", error);
    tell(reason);
}

/* Images. */

/* The first character after white space and comments. */
static const char *skip_comments(const char *at, const char *end)
{
    while (at < end && *at) {
        if (strchr(" \t\r\n\f\v", *at)) {
            at++;
            continue;
        }
        const bool is_block = end - at > 1 && at[0] == '/' && at[1] == '*';
        if (!is_block && !(end - at > 1 && at[0] == '/' && at[1] == '/'))
            return at;
        for (at += 2; at < end && *at && !(is_block ? end - at > 1 && at[0] == '*' && at[1] == '/' : *at == '\n');)
            at++;
        if (at < end && *at)
            at += is_block ? 2 : 1;
    }
    return at;
}

/* PTX begins with its version. Cubins, fat binaries and other images begin with bytes that are not text. */
static bool is_ptx(const char *image, const char *end)
{
    static const char directive[] = ".version";
    const char *at = skip_comments(image, end);
    return (size_t)(end - at) >= sizeof directive && memcmp(at, directive, sizeof directive - 1) == 0 &&
           (at[sizeof directive - 1] == ' ' || at[sizeof directive - 1] == '\t');
}

/* The bytes of PTX before its final 0; 0: it is not PTX, or ptxopt has made it already. */
static size_t ptx_size(const char *image, size_t most)
{
    if (!image || !most || !*image || !strchr(" \t\r\n\f\v/.", *image))
        return 0; /* also where nothing says how much more may be looked at: other images are not text */
    const size_t size = most == SIZE_MAX ? strlen(image) : strnlen(image, most);
    return is_ptx(image, image + size) && !memmem(image, size, "__ptxopt_", strlen("__ptxopt_")) ? size : 0;
}

/* Sets the architecture to assemble for, "sm_90": the current device's, or the first one's. PTX for features of this
 * architecture alone, "sm_90a", names it itself. False: there is no device. */
static bool find_arch(const Driver *driver, const char *ptx, char arch[32])
{
    enum { MAJOR = 75, MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_... */
    int device = 0, major = 0, minor = 0;
    if (driver->current_device && driver->current_device(&device))
        device = 0;
    if (!driver->device_attribute || driver->device_attribute(&major, MAJOR, device) ||
        driver->device_attribute(&minor, MINOR, device))
        return false;
    snprintf(arch, 32, "sm_%d", major * 10 + minor);
    const char *target = strstr(ptx, ".target");
    const char *named = target ? strstr(target, arch) : NULL;
    const char *line = target ? target + strcspn(target, "\n") : NULL;
    if (named && named < line && strchr("af", named[strlen(arch)]))
        snprintf(arch + strlen(arch), 2, "%c", named[strlen(arch)]);
    return true;
}

/* The program. */

/* Sets the path of ptxopt: $PTXOPT; or what is installed, or was built, with this library; or its name, to be looked up
 * in $PATH. */
static void find_program(char path[4096])
{
    static const char *const places[] = {"ptxopt", "../bin/ptxopt", "../../ptxopt"};
    const char *named = getenv("PTXOPT");
    Dl_info info;
    snprintf(path, 4096, "%s", named && *named ? named : "ptxopt");
    if ((named && *named) || !dladdr((void *)jit_text, &info) || !info.dli_fname)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    const int folder = slash ? (int)(slash - info.dli_fname) : 0;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        char there[4096];
        const int length = snprintf(there, sizeof there, "%.*s/%s", folder, info.dli_fname, places[i]);
        struct stat file;
        if (length < (int)sizeof there && stat(there, &file) == 0 && S_ISREG(file.st_mode) &&
            access(there, X_OK) == 0) {
            memcpy(path, there, (size_t)length + 1);
            return;
        }
    }
}

/* The environment, without what is for this program: ptxopt itself may open the driver. For the caller to free. */
static char **child_environment(void)
{
    static const char *const left_out[] = {"LD_PRELOAD=", "PTXOPT_JIT=", "PTXOPT_LAUNCH_REPORT="};
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **copy = malloc((count + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        bool is_kept = true;
        for (size_t k = 0; k < sizeof left_out / sizeof *left_out; k++)
            is_kept &= strncmp(environ[i], left_out[k], strlen(left_out[k])) != 0;
        if (is_kept)
            copy[kept++] = environ[i];
    }
    if (copy)
        copy[kept] = NULL;
    return copy;
}

/* The command line; it points into 'options', which is cut at its blanks. For the caller to free. */
static char **make_arguments(char *program, char *options, char *arch, char *output, char *input)
{
    static char keep[] = "-keep-original", arch_option[] = "-arch", output_option[] = "-o";
    static char name_option[] = "-input-name", name[] = "loaded.ptx"; /* in messages: the file is gone by then */
    size_t count = 0;
    bool has_arch = false;
    char **arguments = malloc((strlen(options) / 2 + 11) * sizeof *arguments), *rest = NULL;
    if (!arguments)
        return NULL;
    arguments[count++] = program;
    for (char *word = strtok_r(options, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
        has_arch |= strcmp(word, "-arch") == 0 || strcmp(word, "--arch") == 0;
        arguments[count++] = word;
    }
    arguments[count++] = keep; /* for launches that a contract forbids */
    if (!has_arch) {
        arguments[count++] = arch_option;
        arguments[count++] = arch;
    }
    arguments[count++] = name_option;
    arguments[count++] = name;
    arguments[count++] = output_option;
    arguments[count++] = output;
    arguments[count++] = input;
    arguments[count] = NULL;
    return arguments;
}

/* Starts ptxopt in a process group of its own, which can be ended as a whole, with the signals of a new program. */
static int start(pid_t *process, char **arguments, const char *messages)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, all;
    char **environment = child_environment();
    sigemptyset(&none);
    sigfillset(&all);
    if (!environment || posix_spawnattr_init(&attributes)) {
        free(environment);
        return ENOMEM;
    }
    if (posix_spawn_file_actions_init(&actions)) {
        posix_spawnattr_destroy(&attributes);
        free(environment);
        return ENOMEM;
    }
    int error = posix_spawnattr_setflags(&attributes,
                                         POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    error = error ? error : posix_spawnattr_setsigmask(&attributes, &none);
    error = error ? error : posix_spawnattr_setsigdefault(&attributes, &all);
    error = error ? error : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    error = error ? error : posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    error = error ? error : posix_spawn_file_actions_addopen(&actions, 2, messages, O_WRONLY | O_CREAT, 0600);
    error = error ? error : posix_spawnp(process, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    return error;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Waits until the process has ended, or the time. It stays there, so that its number is not used again. The program may
 * wait for any of its children, and take the status first, so that it is unknown: whether there is an output says
 * enough. */
static bool has_ended(pid_t process, double until)
{
    struct timespec pause = {0, 1000000};
    siginfo_t state = {0};
    while (waitid(P_PID, (id_t)process, &state, WEXITED | WNOHANG | WNOWAIT) == 0 && !state.si_pid) {
        if (seconds_now() > until)
            return false;
        nanosleep(&pause, NULL);
        pause.tv_nsec += pause.tv_nsec < 20000000 ? 1000000 : 0;
    }
    return true;
}

/* Seconds that $PTXOPT_JIT_LIMIT gives. */
static double limit_seconds(void)
{
    const char *text = getenv("PTXOPT_JIT_LIMIT");
    char *end = NULL;
    const double limit = text && *text ? strtod(text, &end) : DEFAULT_LIMIT;
    return (end && *end) || !(limit > 0) ? DEFAULT_LIMIT : limit > MOST_LIMIT ? MOST_LIMIT : limit;
}

/* Runs ptxopt; NULL, or why it did not end. */
static const char *run_program(char **arguments, const char *messages, char reason[REASON])
{
    const double limit = limit_seconds();
    pid_t process;
    const int error = start(&process, arguments, messages);
    if (error) {
        snprintf(reason, REASON, "cannot start %s: %s", arguments[0], strerror(error));
        return reason;
    }
    const bool is_done = has_ended(process, seconds_now() + limit);
    if (!is_done) {
        kill(-process, SIGTERM); /* it deletes its temporary files */
        has_ended(process, seconds_now() + 1);
        kill(-process, SIGKILL); /* with what it has started */
        snprintf(reason, REASON, "ptxopt has not ended after %g seconds", limit);
    }
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
        ;
    return is_done ? NULL : reason;
}

/* Files. */

/* The whole file with a 0 after it, for the caller to free; NULL: it cannot be read. */
static char *read_whole(const char *path, size_t *size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat state;
    char *text = NULL;
    if (file >= 0 && fstat(file, &state) == 0 && S_ISREG(state.st_mode) && (size_t)state.st_size < most_bytes)
        text = malloc((size_t)state.st_size + 1);
    ssize_t got = 1;
    for (*size = 0; text && *size < (size_t)state.st_size && got > 0; *size += got > 0 ? (size_t)got : 0)
        got = read(file, text + *size, (size_t)state.st_size - *size);
    if (file >= 0)
        close(file);
    if (text && got < 0) {
        free(text);
        return NULL;
    }
    if (text)
        text[*size] = 0;
    return text;
}

static bool write_whole(const char *path, const char *text, size_t size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t put = 1;
    for (size_t done = 0; file >= 0 && done < size && put > 0; done += put > 0 ? (size_t)put : 0)
        put = write(file, text + done, size - done);
    return file >= 0 && (close(file) == 0) & (put > 0);
}

/* The first error among ptxopt's messages, else the last line. */
static void read_reason(const char *path, char reason[REASON])
{
    size_t size;
    char *messages = read_whole(path, &size), *rest = NULL;
    const char *found = "ptxopt has written nothing";
    for (char *line = messages ? strtok_r(messages, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        found = line;
        if (strstr(line, "error: "))
            break;
    }
    snprintf(reason, REASON, "%s", found);
    free(messages);
}

/* The names of files in a temporary folder of this call. */
typedef struct Files {
    char folder[512], input[544], output[544], messages[544];
} Files;

static bool files_make(Files *files)
{
    const char *place = getenv("TMPDIR");
    const int length =
        snprintf(files->folder, sizeof files->folder, "%s/ptxopt-jit-XXXXXX", place && *place ? place : "/tmp");
    if (length >= (int)sizeof files->folder || !mkdtemp(files->folder))
        return false;
    snprintf(files->input, sizeof files->input, "%s/loaded.ptx", files->folder);
    snprintf(files->output, sizeof files->output, "%s/changed.ptx", files->folder);
    snprintf(files->messages, sizeof files->messages, "%s/messages", files->folder);
    return true;
}

/* With what an ended ptxopt has left there. */
static void files_delete(const Files *files)
{
    DIR *all = opendir(files->folder);
    for (const struct dirent *entry; all && (entry = readdir(all)) != NULL;)
        unlinkat(dirfd(all), entry->d_name, 0);
    if (all)
        closedir(all);
    rmdir(files->folder);
}

/* The text that ptxopt makes; NULL with a reason. */
static char *make_text(Files *files, const char *ptx, size_t size, const char *options, char *arch,
                       char reason[REASON])
{
    char program[4096], *words = strdup(options);
    size_t made = 0;
    find_program(program);
    char **arguments = words ? make_arguments(program, words, arch, files->output, files->input) : NULL;
    char *text = NULL;
    if (!arguments)
        snprintf(reason, REASON, "there is no memory");
    else if (!write_whole(files->input, ptx, size))
        snprintf(reason, REASON, "cannot write %s: %s", files->input, strerror(errno));
    else if (!run_program(arguments, files->messages, reason) && !(text = read_whole(files->output, &made)))
        read_reason(files->messages, reason);
    if (text && (!made || strlen(text) != made)) {
        snprintf(reason, REASON, "what ptxopt has written is not text");
        free(text);
        text = NULL;
    }
    free(arguments);
    free(words);
    return text;
}

char *jit_text(const Driver *driver, const void *image, size_t most)
{
    const char *options = getenv("PTXOPT_JIT");
    const size_t size = options && *options ? ptx_size(image, most) : 0;
    char arch[32], reason[REASON] = "", *text = NULL, *ptx = NULL;
    const int before = errno;
    Files files;
    if (!size)
        return NULL;
    if (most != SIZE_MAX && !(ptx = strndup(image, size)))
        return NULL;
    if (!find_arch(driver, ptx ? ptx : image, arch)) {
        tell("the device's architecture is not known");
    } else if (!files_make(&files)) {
        snprintf(reason, sizeof reason, "cannot make a temporary folder: %s", strerror(errno));
        tell(reason);
    } else {
        text = make_text(&files, image, size, options, arch, reason);
        files_delete(&files);
        if (!text)
            tell(reason);
    }
    free(ptx);
    errno = before;
    return text;
}

char *jit_text_of_file(const Driver *driver, const char *path)
{
    const char *options = getenv("PTXOPT_JIT");
    size_t size = 0;
    if (!options || !*options || !path)
        return NULL;
    char *image = read_whole(path, &size), *text = image ? jit_text(driver, image, size) : NULL;
    free(image);
    return text;
}
