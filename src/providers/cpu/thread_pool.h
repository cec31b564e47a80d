// A pool of threads that share the tasks of a launch with the thread that launches.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace estoc::cpu {

/// The cores this process may run on, at least 1.
int available_threads();

/// A reference to something callable as body(task, slot); it must outlive the call it is passed to.
class TaskBody {
 public:
  template <class Callable>
  TaskBody(const Callable& callable)  // NOLINT: conversion is the point
      : object_(&callable), call_([](const void* object, std::int64_t task, int slot) {
          (*static_cast<const Callable*>(object))(task, slot);
        }) {}
  void operator()(std::int64_t task, int slot) const { call_(object_, task, slot); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, int);
};

/// Threads that wait for tasks. They are started when first needed and stay, idle, until the
/// process ends. Any number of user threads may call run at once, also from within a task: the
/// caller works on its own tasks, so that it never waits for a thread that is busy elsewhere.
///
/// After a fork the child starts with no threads and makes its own.
class ThreadPool {
 public:
  /// The pool of the process.
  static ThreadPool& shared();

  /// Calls body(task, slot) for each task from 0 to tasks - 1, on the calling thread and at most
  /// threads - 1 others, and returns when all are done. Tasks are taken in order; `slot`, from 0 to
  /// threads - 1, is the same for all tasks that one thread takes, and no other thread's. When a
  /// task throws, those not yet taken are left out and the first exception is thrown again here.
  void run(int threads, std::int64_t tasks, TaskBody body);

  ThreadPool();
  ~ThreadPool() = delete;  // its threads may outlive every object
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Job;
  struct State;

  void start_workers(int wanted);
  void work();

  State* state_;
};

}  // namespace estoc::cpu
