import { inspect } from "node:util";
import { isPassing, isUnknownScript, toStoreError } from "../../src/store/redis/errors.js";

const call = { operation: "append", sessionId: "alice smith" };
const reply = (message: string) => Object.assign(new Error(message), { name: "ReplyError" });

describe("toStoreError", () => {
  it.each([
    ["OOM command not allowed", "refused the call; nothing was written. Raise maxmemory or remove data."],
    ["READONLY You can't write", "h:1 is a read-only replica; nothing was written. Connect to the master, or wait"],
    ["MOVED 3999 127.0.0.1:6381", "another node of the Redis Cluster holds it. Connect with ioredis's Cluster"],
    ["LOADING Redis is loading", "Redis at h:1 is loading its data; try again later."],
    ["ERR max number of clients reached", "h:1 closed the connection"],
    ["BUSY Redis is busy", "Redis at h:1 cannot serve the call at the moment; try again later."],
    ["ERR what", "Redis at h:1 answered with an error that this package does not know; `cause` holds its text."],
  ])("puts %j into words without codes, and speaks of what was written only to writers", (message, sentence) => {
    const { message: written } = toStoreError(reply(message), call, { server: "h:1" });
    expect(written).toContain(`Session alice%20smith: `);
    expect(written).toContain(sentence);
    const { message: read } = toStoreError(reply(message), call, { server: "h:1", writes: false });
    expect(read).toContain(sentence.replace("; nothing was written", ""));
    expect(written + read).not.toMatch(/\((MOVED|ERR|OOM|LOADING|READONLY)\)|append of/);
  });

  it.each([
    [{ operation: "listSessions", sessionId: "", owner: "ann" }, "Owner ann: Redis at h:1 cannot be reached."],
    [{ operation: "scan", sessionId: "" }, "Redis at h:1 cannot be reached."],
    [call, "Session alice%20smith: Redis at h:1 cannot be reached."],
  ])("names what a call was about, but for one about everything: %j", (name, sentence) => {
    const closed = new Error("Connection is closed.");
    expect(toStoreError(closed, name, { server: "h:1", writes: false }).message).toBe(sentence);
  });

  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:1.", "out_of_memory", true],
    [
      "ERR Error running script (call to f_abc): @user_script:4: @user_script: 4: -OOM command not allowed " +
        "when used memory > 'maxmemory'.",
      "out_of_memory",
      true,
    ],
    ["READONLY You can't write against a read only replica.", "read_only", true],
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "wrong_type", false],
    ["NOAUTH Authentication required.", "unavailable", false],
    ["WRONGPASS invalid username-password pair or user is disabled.", "unavailable", false],
    ["NOPERM this user has no permissions to run the 'evalsha' command", "unavailable", false],
    ["ERR The user executing the script can't run this command or subcommand script: abc", "unavailable", false],
    ["ERR ACL failure in script: User u has no permissions to run the 'time' command", "unavailable", false],
    ["LOADING Redis is loading the dataset in memory", "unavailable", true],
    ["CLUSTERDOWN Hash slot not served", "unavailable", true],
    ["TRYAGAIN Multiple keys request during rehashing of slot", "unavailable", true],
    ["BUSY Redis is busy running a script.", "unavailable", true],
    ["MISCONF Redis is configured to save RDB snapshots", "unavailable", true],
    ["UNBLOCKED force unblock from blocking operation, instance state changed", "unavailable", true],
    ["ERR WAIT cannot be used with replica instances.", "unavailable", true],
    ["ERR user_script:3: attempt to index a nil value", "script_failed", false],
  ])("maps %j to its code", (message, code, retryable) => {
    expect(toStoreError(reply(message), call)).toMatchObject({
      name: "StoreError",
      code,
      retryable,
      operation: "append",
      sessionId: "alice smith",
    });
  });

  it.each([
    ["connect ECONNREFUSED 127.0.0.1:1", "Error"],
    ["Reached the max retries per request limit (which is 20).", "MaxRetriesPerRequestError"],
    ["Connection is closed.", "Error"],
    ["Stream isn't writeable and enableOfflineQueue options is false", "Error"],
    ["Failed to refresh slots cache.", "ClusterAllFailedError"],
  ])("maps an unreachable server to unavailable: %j", (message, name) => {
    expect(toStoreError(Object.assign(new Error(message), { name }), call)).toMatchObject({
      code: "unavailable",
      retryable: true,
    });
  });

  it("maps the client's own command timeout to timeout", () => {
    expect(toStoreError(new Error("Command timed out"), call)).toMatchObject({ code: "timeout", retryable: true });
  });

  it("names what made a transaction fail", () => {
    const aborted = Object.assign(reply("EXECABORT Transaction discarded because of previous errors."), {
      previousErrors: [reply("TRYAGAIN Multiple keys")],
    });
    expect(isPassing(aborted)).toBe(true);
    expect(toStoreError(aborted, call)).toMatchObject({ code: "unavailable", retryable: true });
  });

  it("shows neither the plain session id nor the command's arguments", () => {
    const error = Object.assign(reply("WRONGTYPE Operation against a key"), {
      command: { name: "evalsha", args: ["the text of a message"] },
    });
    const shown = toStoreError(error, { ...call, sessionId: "line\nbreak" });
    expect(shown.message).toMatch(/^Session line%0Abreak: a key of the session holds/);
    expect(shown.cause).toMatchObject({ name: "ReplyError", message: "WRONGTYPE Operation against a key" });
    expect(JSON.stringify([shown, shown.cause, { ...(shown.cause as object) }])).not.toContain("the text");
  });

  it("keeps of the cause what tells failures apart, and nothing that may be secret", () => {
    const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), {
      code: "ECONNREFUSED",
      command: { name: "auth", args: ["the password"] },
    });
    const shown = toStoreError(refused, call);
    expect(shown.cause).toEqual(Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }));
    expect(Object.keys(shown.cause as object)).toEqual(["code"]);
    expect(shown.message).toMatch(/\(ECONNREFUSED\)/);
  });

  it("cuts the arguments that Redis repeats for a command that it does not know", () => {
    const unknown = toStoreError(reply("ERR unknown command 'eval', with args beginning with: 'the text'"), call);
    expect(unknown.cause).toMatchObject({ message: "ERR unknown command 'eval'" });
    expect(inspect(unknown, { depth: 9, showHidden: true })).not.toContain("the text");
  });

  it.each([
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "CERT_HAS_EXPIRED",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE",
  ])("takes a refused certificate for a mistake that trying again does not mend (%s)", (code) => {
    const refused = Object.assign(new Error("the certificate is refused"), { code });
    expect(toStoreError(refused, call)).toMatchObject({ code: "unavailable", retryable: false });
  });

  it("takes no name of a host, and no reply, for a certificate", () => {
    const away = Object.assign(new Error("getaddrinfo ENOTFOUND CERT-1.local"), { code: "ENOTFOUND" });
    expect(toStoreError(away, call).message).not.toContain("certificate");
    expect(toStoreError(reply("ERR value CERT"), call).message).not.toContain("certificate");
  });

  it("reads the code of a failed connection from the message where ioredis keeps it there only", () => {
    const failure = new Error("All sentinels are unreachable. Last error: connect ETIMEDOUT");
    expect(toStoreError(failure, call)).toMatchObject({ code: "unavailable", cause: { code: "ETIMEDOUT" } });
  });

  it("keeps the errors of this package, and wraps values that are not errors", () => {
    const own = toStoreError(reply("OOM"), call);
    expect(toStoreError(own, call)).toBe(own);
    expect(toStoreError("a bare string", call)).toMatchObject({ code: "unavailable" });
  });

  it("distinguishes a missing script from other errors", () => {
    expect(isUnknownScript(reply("NOSCRIPT No matching script. Please use EVAL."))).toBe(true);
    expect(isUnknownScript(reply("ERR no"))).toBe(false);
  });
});
