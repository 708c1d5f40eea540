"use strict";
const { ModernFakeTimers } = require("@jest/fake-timers");
const { ModuleMocker } = require("jest-mock");

/**
 * Runs all test files of a worker in the worker's own realm: what the packages that they share make is an instance of
 * the classes that a test sees. A file leaves its globals, environment variables and exit code as it found them.
 */
module.exports = class OneRealmEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;
  #globals = Object.getOwnPropertyDescriptors(globalThis);
  #variables = { ...process.env };
  // Jest puts functions of the file in their place.
  #process = { exit: process.exit, getBuiltinModule: process.getBuiltinModule, exitCode: process.exitCode };

  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  /** Loads a package; the globals that it sets meanwhile stay, as it does. */
  load(path) {
    const before = new Set(Reflect.ownKeys(globalThis));
    try {
      return require(path);
    } finally {
      for (const key of Reflect.ownKeys(globalThis).filter((name) => !before.has(name))) {
        this.#globals[key] = Object.getOwnPropertyDescriptor(globalThis, key);
      }
    }
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    this.fakeTimersModern = this.global = null;
    this.#restoreGlobals();
    Object.assign(process, this.#process);
    for (const name of Object.keys(process.env).filter((name) => !(name in this.#variables))) {
      delete process.env[name];
    }
    Object.assign(process.env, this.#variables);
  }

  #restoreGlobals() {
    for (const key of Reflect.ownKeys(globalThis)) {
      const [before, now] = [this.#globals[key], Object.getOwnPropertyDescriptor(globalThis, key)];
      if (before === undefined) {
        Reflect.deleteProperty(globalThis, key);
      } else if (now.value !== before.value || now.get !== before.get) {
        Reflect.defineProperty(globalThis, key, before);
      }
    }
  }

  exportConditions() {
    return ["node", "node-addons"];
  }

  getVmContext() {
    return this.global;
  }
};
