// Threads: a session's own, those that its caller lends, and what of the caller's none of them may notice.
#include "runtime/core/cpu.h"
#include "runtime/core/threads.h"
#include "runtime/include/xf/xf.h"
#include "test/runtime/sample_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <immintrin.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

TEST(threads, all_threads_meet_at_every_barrier) {
  for (int threads : {1, 2, 3, 8}) {
    struct shared {
      xf::rt::thread_pool pool;
      std::atomic<int> arrived{0};
      std::atomic<int> wrong{0};
    } s{{threads, 2}};
    for (int round = 0; round < 50; ++round) {
      s.arrived = 0;
      s.pool.run(
          [](void *argument, int) {
            auto *s = static_cast<shared *>(argument);
            for (int i = 1; i <= 20; ++i) {
              ++s->arrived;
              s->pool.barrier();
              s->wrong += s->arrived != i * s->pool.size();
              s->pool.barrier();
            }
          },
          &s);
    }
    EXPECT_EQ(s.wrong, 0) << threads;
  }
}

void go_to(int cpu) { EXPECT_TRUE(xf::rt::bind_to_cpu(pthread_self(), cpu)); }

// Where a pool has a thread for each CPU, all run at the same time, wherever its caller is, and wherever it wakes up.
TEST(threads, have_a_cpu_each) {
  const std::vector<int> allowed = xf::rt::allowed_cpus();
  if (allowed.size() < 2)
    GTEST_SKIP() << "there is one CPU only";
  xf::rt::thread_pool pool(allowed.size(), allowed.size());
  std::thread caller([&] { // whose own CPUs are lost with it
    std::vector<int> cpus(allowed.size());
    for (int cpu : {allowed[0], allowed[1], allowed[0]}) {
      go_to(cpu);
      pool.run([&](int thread) { cpus[thread] = sched_getcpu(); });
      EXPECT_EQ(cpus[0], cpu);
      std::sort(cpus.begin(), cpus.end());
      EXPECT_EQ(cpus, allowed);
    }
    // Of a few times, as the caller may come to the barrier so late that it does not sleep there.
    bool found = false;
    for (int i = 0; i < 20 && !found; ++i) {
      go_to(allowed[0]);
      pool.run([&](int thread) {
        if (thread == 0)
          go_to(allowed[1]);
        else
          usleep(5000);
        pool.barrier();
        pool.barrier();
        cpus[thread] = sched_getcpu();
      });
      EXPECT_EQ(cpus[0], allowed[1]);
      std::sort(cpus.begin(), cpus.end());
      found = cpus == allowed;
    }
    EXPECT_TRUE(found);
  });
  caller.join();
}

// Flushes denormals and rounds down while it lives, which nothing of ours may notice.
class strange_control_word {
public:
  strange_control_word() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040 | 0x2000); }
  ~strange_control_word() { _mm_setcsr(before_); }
  strange_control_word(const strange_control_word &) = delete;

private:
  unsigned before_;
};

void run_strange_threads(void *context, int32_t threads, xf_task task, void *argument) {
  ++*static_cast<std::atomic<int> *>(context);
  std::vector<std::thread> own;
  for (int32_t i = threads; i-- > 0;)
    own.emplace_back([=] {
      strange_control_word word;
      task(argument, i);
    });
  for (std::thread &thread : own)
    thread.join();
}

// What a session finds for three sentences: tokens, and scores to the bit.
struct found {
  explicit found(xf_session *session) {
    int32_t ids[] = {5, 6, 7, 4, 9, 8, 8}, lengths[3];
    int64_t offsets[] = {0, 3, 4, 7};
    xf_hypotheses results = {sizeof(results), tokens.data(), 40, lengths, scores.data()};
    EXPECT_EQ(xf_generate(session, ids, offsets, 3, nullptr, &results), XF_OK) << xf_message();
  }
  bool operator==(const found &) const = default;
  std::vector<int32_t> tokens = std::vector<int32_t>(3 * 40, -1);
  std::vector<double> scores = std::vector<double>(3);
};

xf_session *make_session(const xf_model *model, int32_t threads, xf_threads_function lent = nullptr, void *context = nullptr) {
  xf_session_options options;
  xf_session_options_init(&options, sizeof(options));
  options.threads = threads, options.run_threads = lent, options.threads_context = context;
  xf_session *made = nullptr;
  EXPECT_EQ(xf_session_create(model, &options, &made), XF_OK) << xf_message();
  EXPECT_EQ(xf_session_threads(made), threads);
  return made;
}

// Of a session that is made for it.
found found_by(const xf_model *model, int32_t threads, xf_threads_function lent = nullptr, void *context = nullptr) {
  xf_session *made = make_session(model, threads, lent, context);
  found result(made);
  xf_session_free(made);
  return result;
}

TEST(threads, of_the_caller_do_what_own_ones_do) {
  sample::options o;
  o.chooses = true; // then threads add up the probabilities of rows of their own
  sample::aligned_bytes image(sample::build(o));
  xf_model *model = nullptr;
  ASSERT_EQ(xf_open_memory(image.data(), image.size(), &model), XF_OK);
  const found wanted = found_by(model, 1);
  for (int threads : {1, 2, 5}) {
    std::atomic<int> calls{0};
    EXPECT_TRUE(found_by(model, threads) == wanted) << threads;
    EXPECT_TRUE(found_by(model, threads, run_strange_threads, &calls) == wanted) << threads << " of the caller's";
    EXPECT_EQ(calls > 0, threads > 1) << threads;
    strange_control_word word; // the session's own threads begin with their maker's
    EXPECT_TRUE(found_by(model, threads) == wanted) << threads << " of a strange caller's session";
  }
  xf_model_free(model);
}

// Thread sanitizers know no thread of a child's.
#ifdef __SANITIZE_THREAD__
constexpr bool kForksMayThread = false;
#elif defined(__has_feature)
constexpr bool kForksMayThread = !__has_feature(thread_sanitizer);
#else
constexpr bool kForksMayThread = true;
#endif

// The child of a process has none of the session's threads. It gets its own when it needs them, and may give back what it has.
TEST(threads, are_started_anew_behind_a_fork) {
  sample::aligned_bytes image(sample::build({}));
  xf_model *model = nullptr;
  ASSERT_EQ(xf_open_memory(image.data(), image.size(), &model), XF_OK);
  xf_session *own = make_session(model, 8); // waiting for one or two that are not there would go unnoticed
  const found wanted(own);
  for (bool runs : {false, kForksMayThread}) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20); // where it waits for threads that are not there
      bool same = !runs || (found(own) == wanted && found(own) == wanted);
      xf_session_free(own);
      _exit(same ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << runs;
  }
  EXPECT_TRUE(found(own) == wanted);
  xf_session_free(own);
  xf_model_free(model);
}

// The signals that each thread of the process has blocked, by number.
std::map<std::string, uint64_t> blocked_signals() {
  std::map<std::string, uint64_t> blocked;
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.rfind("SigBlk:", 0) == 0)
        blocked[task.path().filename()] = std::stoull(line.substr(7), nullptr, 16);
  }
  return blocked;
}

TEST(threads, leave_signals_to_the_programs_own) {
  sample::aligned_bytes image(sample::build({}));
  xf_model *model = nullptr;
  ASSERT_EQ(xf_open_memory(image.data(), image.size(), &model), XF_OK);
  sigset_t none, own_mask;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, &own_mask);
  auto before = blocked_signals();
  xf_session *own = make_session(model, 3);
  EXPECT_GT(found(own).tokens[0], 0); // behind it all threads have begun
  auto after = blocked_signals();
  EXPECT_EQ(after.size(), before.size() + 2);
  auto bit = [](int signal) { return uint64_t(1) << (signal - 1); };
  for (const auto &[thread, blocked] : after)
    if (before.contains(thread))
      EXPECT_EQ(blocked, before[thread]);
    else // but for those that tell what it has done wrong itself
      EXPECT_EQ(blocked & (bit(SIGINT) | bit(SIGTERM) | bit(SIGUSR1) | bit(SIGCHLD) | bit(SIGSEGV) | bit(SIGFPE) | bit(SIGPROF)),
                bit(SIGINT) | bit(SIGTERM) | bit(SIGUSR1) | bit(SIGCHLD));
  pthread_sigmask(SIG_SETMASK, &own_mask, nullptr);
  xf_session_free(own);
  xf_model_free(model);
}

TEST(threads, sessions_of_one_model_run_side_by_side) {
  sample::aligned_bytes image(sample::build({}));
  xf_model *model = nullptr;
  ASSERT_EQ(xf_open_memory(image.data(), image.size(), &model), XF_OK);
  const found wanted = found_by(model, 1);
  std::atomic<int> good{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&] {
      xf_session *own = make_session(model, 2);
      for (int i = 0; i < 20; ++i)
        good += found(own) == wanted;
      xf_session_free(own);
    });
  for (std::thread &user : users)
    user.join();
  xf_model_free(model);
  EXPECT_EQ(good, 80);
}

} // namespace
