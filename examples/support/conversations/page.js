// The page: plain DOM, and everything that anybody wrote is put in as text.
const at = (id) => document.getElementById(id);
const [list, more, none, log, older, empty] = ["list", "more", "none", "log", "older", "empty"].map(at);
const [messages, title, form, text, send, stop, status] = [
  ...["messages", "title", "form", "text", "send", "stop", "status"].map(at),
];

/** What is open: a conversation, its last question, and the request under way. */
let current = "";
let isNew = true;
let last;
let running;
let cursor = null;
let previous = null;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

class Refused extends Error {
  constructor(code) {
    super(code === 404 ? "This conversation is not there." : "That did not work. Try again.");
    this.status = code;
  }
}

const json = { "content-type": "application/json" };

async function call(method, path, body) {
  const response = await fetch(`api/${path}`, { method, ...(body && { headers: json, body: JSON.stringify(body) }) });
  if (!response.ok) throw new Refused(response.status);
  return response.json();
}

/** Runs what a button asks for, and says so where it fails. */
async function attempt(work) {
  status.textContent = "";
  try {
    return await work();
  } catch (error) {
    status.textContent = error instanceof Refused ? error.message : "The server cannot be reached. Try again.";
  }
}

// The list

/** The first page takes the place of what is listed of it; pages that were added by "More" stay. */
async function showList({ append = false, fresh = false } = {}) {
  const page = await call("GET", `conversations${append ? `?cursor=${encodeURIComponent(cursor)}` : ""}`);
  if (fresh) list.replaceChildren();
  if (append || list.children.length === 0) cursor = page.next;
  const ids = new Set(page.conversations.map(({ id }) => id));
  // One that was written to meanwhile is on the first page already.
  const listed = new Set([...list.children].map(({ dataset }) => dataset.id));
  const added = page.conversations.filter(({ id }) => !append || !listed.has(id)).map(entry);
  if (!append) [...list.children].filter(({ dataset }) => ids.has(dataset.id)).forEach((item) => item.remove());
  list[append ? "append" : "prepend"](...added);
  more.hidden = cursor === null;
  none.hidden = list.children.length > 0;
  markCurrent();
}

function entry({ id, title: name = "Untitled", updatedAt }) {
  const when = element("time", { textContent: ago(updatedAt), dateTime: new Date(updatedAt).toISOString() });
  const button = element("button", { type: "button" }, element("span", { textContent: name, title: name }), when);
  button.addEventListener("click", () => open(id));
  const item = element("li", {}, button);
  item.dataset.id = id;
  item.dataset.title = name;
  return item;
}

function ago(time) {
  const minutes = Math.max(0, Math.round((Date.now() - time) / 60_000));
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  return minutes < 1440 ? `${Math.round(minutes / 60)} h` : new Date(time).toLocaleDateString();
}

function markCurrent() {
  for (const item of list.children) {
    const isOpen = item.dataset.id === current;
    item.firstChild.ariaCurrent = isOpen ? "true" : null;
    if (isOpen) title.textContent = item.dataset.title;
  }
  at("rename").disabled = at("delete").disabled = isNew;
}

function setListing(isShown) {
  document.body.classList.toggle("listing", isShown);
  at("menu").setAttribute("aria-expanded", String(isShown));
  (isShown ? at("close") : at("menu")).focus();
}

// A conversation

async function open(id, { replace = false } = {}) {
  running?.abort();
  [current, isNew, last, previous] = [id || crypto.randomUUID(), id === "", undefined, null];
  history[replace ? "replaceState" : "pushState"](null, "", id === "" ? "./" : `#${id}`);
  if (document.body.classList.contains("listing")) setListing(false);
  title.textContent = id === "" ? "New conversation" : "Conversation";
  log.replaceChildren();
  text.value = "";
  status.textContent = "";
  markCurrent();
  setRunning(undefined);
  if (id !== "") await attempt(showNewest);
  showEdges();
  // On a phone this would open the keyboard.
  if (matchMedia("(pointer: fine)").matches) text.focus();
}

/** The newest page takes the place of what is shown of it; older pages stay. */
async function showNewest() {
  const id = current;
  const page = await call("GET", `conversations/${id}/messages`);
  if (id !== current) return;
  const first = page.messages[0]?.position ?? 0;
  const kept = [...log.children].filter(({ dataset }) => Number(dataset.position) < first);
  if (kept.length === 0) previous = page.previous;
  log.replaceChildren(...kept, ...page.messages.map(shown));
  last = page.messages.findLast(({ role }) => role === "human");
  showEdges();
  messages.scrollTop = messages.scrollHeight;
}

async function showOlder() {
  const id = current;
  const page = await call("GET", `conversations/${id}/messages?before=${previous}`);
  if (id !== current) return;
  const height = messages.scrollHeight - messages.scrollTop;
  log.prepend(...page.messages.map(shown));
  previous = page.previous;
  showEdges();
  messages.scrollTop = messages.scrollHeight - height;
  if (older.hidden) messages.focus();
}

function showEdges() {
  older.hidden = previous === null;
  empty.hidden = log.children.length > 0;
  for (const item of log.children) {
    const again = item.querySelector("[data-again]");
    if (again) again.hidden = item !== log.lastElementChild;
  }
}

/** A message with what can be done about it. */
function shown(message) {
  const { position, role, text: said, interrupted } = message;
  const item = bubble(role, said);
  item.dataset.position = position;
  item.dataset.message = message.id;
  if (interrupted) item.append(element("span", { className: "note", textContent: "Stopped" }));
  const actions = element("div", { className: "actions" });
  if (role === "human") actions.append(action("Edit", () => edit(item, message)));
  if (role === "ai") {
    const again = action(interrupted ? "Retry" : "Regenerate", () => run({ ...last, replace: !interrupted }));
    again.dataset.again = "";
    actions.append(again);
  }
  actions.append(action("Branch", () => attempt(() => branch(position + 1))));
  item.append(actions);
  return item;
}

function bubble(role, said) {
  return element("li", { className: role }, element("p", { className: "said", textContent: said }));
}

function action(name, work) {
  const button = element("button", { type: "button", className: "quiet", textContent: name });
  button.addEventListener("click", () => running === undefined && work());
  return button;
}

function edit(item, message) {
  const area = element("textarea", { value: message.text, maxLength: 20_000 });
  area.setAttribute("aria-label", "Edited message");
  const hint = element("p", { className: "hint", textContent: "What follows is replaced." });
  const cancel = element("button", { type: "button", className: "quiet", textContent: "Cancel" });
  const save = element("button", { type: "submit", className: "primary", textContent: "Send" });
  const editing = element("form", { className: "edit" }, area, element("div", {}, hint, cancel, save));
  const close = () => {
    editing.replaceWith(...was);
    item.querySelector("button").focus();
  };
  const was = [...item.childNodes];
  cancel.addEventListener("click", close);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (sends(event)) editing.requestSubmit();
  });
  editing.addEventListener("submit", (event) => {
    event.preventDefault();
    if (area.value.trim() === "" || running !== undefined) return;
    close();
    run({ id: message.id, text: area.value, replace: true });
  });
  item.replaceChildren(editing);
  grow(area);
  area.focus();
}

async function branch(count) {
  const { id } = await call("POST", `conversations/${current}/branches`, { at: count });
  await showList();
  await open(id);
}

// A turn

/** Sends a question, or one in the place of an earlier one, and shows the answer as it comes. */
async function run(question) {
  const [id, controller] = [current, new AbortController()];
  last = { id: question.id, text: question.text };
  status.textContent = "";
  isNew = false;
  history.replaceState(null, "", `#${id}`);
  const answer = showQuestion(question);
  setRunning(controller);
  let failure = "";
  try {
    const body = JSON.stringify({ messageId: question.id, text: question.text, replace: question.replace === true });
    const path = `api/conversations/${id}/turns`;
    const response = await fetch(path, { method: "POST", headers: json, body, signal: controller.signal });
    if (!response.ok) throw new Refused(response.status);
    await showParts(answer.firstChild, response.body);
  } catch {
    failure = controller.signal.aborted ? "Stopped" : "The answer did not arrive whole.";
  }
  if (id !== current) return;
  answer.classList.remove("waiting");
  setRunning(undefined);
  await attempt(showNewest);
  const isStored = !answer.isConnected && last?.id === question.id && last.text === question.text;
  if (id === current && !(isStored && log.lastElementChild.className === "ai")) offerRetry(question, answer, failure);
  await attempt(showList);
}

/** Shows the question at the end, without what followed an earlier one, and returns the place of the answer. */
function showQuestion(question) {
  const place = [...log.children].findIndex((item) => item.dataset.message === question.id);
  const kept = [...log.children].slice(0, place < 0 ? undefined : place);
  const answer = bubble("ai", "");
  answer.classList.add("waiting");
  log.replaceChildren(...kept, asked(question), answer);
  showEdges();
  messages.scrollTop = messages.scrollHeight;
  return answer;
}

function asked({ id, text: said }) {
  const question = bubble("human", said);
  question.dataset.message = id;
  return question;
}

async function showParts(said, body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const isAtEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 80;
    said.append(part.value);
    if (isAtEnd) messages.scrollTop = messages.scrollHeight;
  }
}

/** What arrived stays on the screen; the same request again goes on from what is stored. */
function offerRetry(question, answer, note) {
  const again = action("Retry", () => run(question));
  answer.append(element("span", { className: "note", textContent: note }));
  answer.append(element("div", { className: "actions" }, again));
  if (!answer.isConnected) {
    if (last?.id !== question.id || last.text !== question.text) log.append(asked(question));
    log.append(answer);
  }
  showEdges();
  messages.scrollTop = messages.scrollHeight;
}

function setRunning(controller) {
  running = controller;
  const isRunning = controller !== undefined;
  const hadFocus = [send, stop].includes(document.activeElement);
  [send.hidden, stop.hidden] = [isRunning, !isRunning];
  log.setAttribute("aria-busy", String(isRunning));
  if (hadFocus) (isRunning ? stop : text).focus();
}

/** Enter sends, Shift and Enter begin a new line; the Enter that ends a word of an input method does neither. */
function sends({ key, shiftKey, isComposing }) {
  return key === "Enter" && !shiftKey && !isComposing;
}

function grow(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`;
}

// Buttons and keys

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (text.value.trim() === "" || running !== undefined) return;
  const question = { id: crypto.randomUUID(), text: text.value };
  text.value = "";
  grow(text);
  run(question);
});
text.addEventListener("keydown", (event) => {
  if (!sends(event)) return;
  event.preventDefault();
  form.requestSubmit();
});
document.addEventListener("input", ({ target }) => target.tagName === "TEXTAREA" && grow(target));
stop.addEventListener("click", () => running?.abort());
more.addEventListener("click", () => attempt(() => showList({ append: true })));
older.addEventListener("click", () => attempt(showOlder));
at("new").addEventListener("click", () => open(""));
at("menu").addEventListener("click", () => setListing(true));
for (const id of ["close", "shade"]) at(id).addEventListener("click", () => setListing(false));
document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && document.body.classList.contains("listing")) setListing(false);
});

for (const [button, dialog] of [
  ["rename", "renaming"],
  ["delete", "deleting"],
]) {
  at(button).addEventListener("click", () => {
    at("name").value = title.textContent;
    at(dialog).returnValue = "";
    at(dialog).showModal();
  });
  at(dialog)
    .querySelector("[type=button]")
    .addEventListener("click", () => at(dialog).close());
}
at("renaming").addEventListener("close", ({ target }) => {
  if (target.returnValue !== "done" || at("name").value.trim() === "") return;
  attempt(async () => {
    await call("PATCH", `conversations/${current}`, { title: at("name").value });
    await showList();
  });
});
at("deleting").addEventListener("close", ({ target }) => {
  if (target.returnValue !== "done") return;
  attempt(async () => {
    running?.abort();
    await call("DELETE", `conversations/${current}`);
    [...list.children].find(({ dataset }) => dataset.id === current)?.remove();
    await open("", { replace: true });
    await showList();
  });
});

at("user").addEventListener("change", () => signIn(at("user").value));
async function signIn(user) {
  await call("POST", "sign-in", { user });
  await open("", { replace: true });
  await showList({ fresh: true });
}

addEventListener("popstate", () => open(location.hash.slice(1), { replace: true }));

await attempt(async () => {
  const { users, user } = await call("GET", "users");
  at("user").append(...users.map((name) => element("option", { value: name, textContent: name })));
  at("user").value = user ?? users[0];
  if (user === undefined) return signIn(users[0]);
  await showList();
  await open(location.hash.slice(1), { replace: true });
});
