"use strict";
const { sep } = require("node:path");
const { compileFunction } = require("node:vm");
const { default: Runtime } = require("jest-runtime");

const packages = `${sep}node_modules${sep}`;
/** The functions that modules were compiled to, by file: each call of one makes the module anew. */
const compiled = new Map();

/**
 * Loads each package once for all test files of a worker, and so does with the parts of Jest; the sources and the tests
 * are compiled once and loaded anew for each file. A file that names another environment than
 * `one-realm-environment.cjs`, by `@jest-environment`, has packages of its own.
 */
module.exports = class SharedPackagesRuntime extends Runtime {
  constructor(config, environment, ...others) {
    super(config, environment, ...others);
    if (environment.load === undefined) {
      return;
    }
    const { executor } = this;
    // Compiles for this realm, where Jest compiles for a context of node:vm.
    executor.compile = (source, filename) => {
      const known = compiled.get(filename);
      if (known?.source === source) {
        return known.load;
      }
      const load = compileFunction(source, executor.injectedModuleParameters, { filename });
      compiled.set(filename, { source, load });
      return load;
    };
  }

  requireModule(from, name, ...others) {
    const isShared = this._environment.load !== undefined && name !== undefined && !name.startsWith(".");
    if (isShared && !this._resolution.isCoreModule(name)) {
      const path = this._resolution.resolveCjs(from, name);
      if (path.includes(packages)) {
        return this._environment.load(path);
      }
    }
    return super.requireModule(from, name, ...others);
  }
};
