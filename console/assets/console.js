// What pages do besides showing: they follow changes, take keys, and copy. Every page works without it.
"use strict";
const main = document.getElementById("content");
const live = main?.dataset.live;

// --- Changes: the page is asked for again, and what stands in it is put in place. What a person typed stays. ---

const QUIET_MS = 250;
const PACE_MS = 5000;
const URGENT_PAUSE_MS = 2000;
const AGES_MS = 30000;
let asked = 0;
let waiting = null;

// Types of events that change a page at once; others change it at a slower pace.
const URGENT = {
    approvals: /^(approval|policy|agent|panic|mode)\./,
    now: /^(approval|breaker|panic|mode|agent)\.|^budget\.exceeded$/,
    policy: /^policy\./,
    trust: /^breaker\.|^trust\.(set|probed)$/,
};
const URGENT_EVERYWHERE = /^panic\./; // Each page says that everything is stopped.

function changed(change) {
    const isUrgent = change.types.some((type) => URGENT_EVERYWHERE.test(type) || URGENT[main.dataset.section]?.test(type));
    // Where many pages are open, the service names a longer pace, and they do not all ask at once.
    const pace = change.pace ?? PACE_MS;
    const spread = Math.random() * (pace - PACE_MS);
    const pause = isUrgent
        ? Math.max(QUIET_MS + spread / 10, asked + Math.min(pace / 5, URGENT_PAUSE_MS) - Date.now())
        : Math.max(QUIET_MS + spread, asked + pace + spread / 4 - Date.now());
    if (waiting && isUrgent) {
        clearTimeout(waiting);
        waiting = null;
    }
    waiting ??= setTimeout(refresh, pause);
}

async function refresh() {
    waiting = null;
    asked = Date.now();
    if (document.hidden || !main.querySelector("[data-fresh]")) {
        return;
    }
    const response = await fetch(withShownCards(), { headers: { accept: "text/html" } }).catch(() => null);
    if (!response?.ok) {
        return;
    }
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    // What was not known is known now, or another tab signed in: then this page is somebody else's.
    const isOther = page.getElementById("content")?.dataset.session !== main.dataset.session;
    if (isOther || (document.getElementById("not-known") && !page.getElementById("not-known"))) {
        location.reload();
        return;
    }
    for (const fresh of page.querySelectorAll("[data-fresh], #position")) {
        const shown = fresh.id && document.getElementById(fresh.id);
        if (shown) {
            keepOpen(shown, fresh);
        }
        if (shown && withoutActs(shown) !== withoutActs(fresh) && !holdsInput(shown)) {
            shown.replaceWith(withSameFolds(document.importNode(fresh, true), shown));
        }
    }
    page.querySelectorAll("[data-list]").forEach(addNewCards);
    for (const over of document.querySelectorAll("[data-over]")) {
        over.closest("article")?.querySelectorAll("form button").forEach((button) => { button.disabled = true; });
    }
}

// What a person opened or closed stays so.
function keepOpen(shown, fresh) {
    const parts = fresh.querySelectorAll("details");
    shown.querySelectorAll("details").forEach((part, at) => parts[at]?.toggleAttribute("open", part.open));
}

// The address of this page, with the cards that wait on it: the answer says what has become of those that are gone.
function withShownCards() {
    const address = new URL(location.href);
    const cards = [...document.querySelectorAll("[data-list] > [id]:not(:has([data-over]))")].map((card) => card.id.replace(/^card-/, ""));
    if (cards.length) {
        address.searchParams.set("shown", cards.join(","));
    }
    return address;
}

// What a person unfolded stays unfolded.
function withSameFolds(fresh, shown) {
    const before = shown.querySelectorAll("details");
    fresh.querySelectorAll("details").forEach((fold, at) => { fold.open ||= before[at]?.open ?? false; });
    return fresh;
}

// Each form has a number and a mask of its own whenever it is made: by those alone a part is not new.
function withoutActs(part) {
    return part.outerHTML.replace(/name="(act|form_secret)" value="[^"]*"/g, "");
}

function addNewCards(fresh) {
    const list = document.getElementById(fresh.id);
    for (const card of list ? fresh.children : []) {
        if (!document.getElementById(card.id)) {
            list.append(document.importNode(card, true));
        }
    }
}

// A part that a person works in is not replaced.
function holdsInput(part) {
    const isTyped = (field) => field.type !== "hidden" && (field.value !== field.defaultValue || field.checked !== field.defaultChecked);
    return part.contains(document.activeElement) && document.activeElement !== document.body
        || [...part.querySelectorAll("input, textarea")].some(isTyped)
        || Boolean(part.querySelector("option[selected]:not(:checked)"));
}

function connection(isThere) {
    const banner = document.getElementById("connection");
    if (banner) {
        const wasAway = !banner.hidden;
        banner.hidden = isThere;
        if (isThere && wasAway) {
            refresh();
        }
    }
    if (!isThere && !document.hidden) {
        findEnd();
    }
}

// Sessions end with the service, and with their tokens: then only signing in helps.
async function findEnd() {
    const answer = await fetch(location.href, { method: "HEAD" }).catch(() => null);
    const ended = document.getElementById("ended");
    if (ended && answer?.status === 401) {
        ended.hidden = false;
        document.getElementById("connection").hidden = true;
    }
}

function follow() {
    const heard = (message) => {
        if ("connected" in message) {
            connection(message.connected);
        }
        if (message.change) {
            connection(true);
            changed(message.change);
        }
    };
    if (typeof SharedWorker === "function") {
        const worker = new SharedWorker(main.dataset.worker);
        worker.port.onmessage = (event) => heard(event.data);
        worker.port.postMessage({ listen: live });
        addEventListener("pagehide", () => worker.port.postMessage({ leave: live }));
        addEventListener("pageshow", (event) => event.persisted && location.reload());
        return;
    }
    const source = new EventSource(live);
    source.onopen = () => heard({ connected: true });
    source.onerror = () => heard({ connected: false });
    source.onmessage = (event) => heard({ change: JSON.parse(event.data) });
}

// --- Keys: j and k go through a list; each key of `data-key` presses its button or opens its link. ---

function items() {
    return [...document.querySelectorAll("[data-item]")];
}

function move(step) {
    const all = items();
    const at = all.findIndex((item) => item.contains(document.activeElement));
    const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
}

function press(key) {
    // Where there are several, a key is about the one in focus: nobody answers what they do not look at.
    const all = items();
    const place = document.activeElement?.closest("[data-item]") ?? (all.length ? null : document);
    const target = place?.querySelector(`[data-key="${CSS.escape(key)}"]`);
    const field = target?.matches("summary") ? target.parentElement.querySelector("textarea") : target;
    if (field !== target || target?.matches("button, a")) {
        target.click();
    }
    if (field?.matches("input, textarea, select")) {
        field.focus();
    }
    return Boolean(target);
}

addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select");
    if (event.key === "Escape" && isTyping) {
        event.target.blur();
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
        return;
    }
    if (event.key === "j" || event.key === "k") {
        move(event.key === "j" ? 1 : -1);
        event.preventDefault();
    } else if (event.key.length === 1 && press(event.key)) {
        event.preventDefault();
    }
});

// --- Copying: a button beside what `data-copy` names. ---

addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    const text = button && document.getElementById(button.dataset.copy)?.textContent;
    if (text) {
        await navigator.clipboard?.writeText(text);
        button.textContent = "Copied";
    }
});

// --- Parts with `data-poll` show work that no event tells of: while they stand there, the page asks again. ---

setInterval(() => main?.querySelector("[data-poll]") && refresh(), 1000);

// --- Sessions: pages at other ports of this host set cookies and get them. What a browser keeps for this port they neither write nor read:
// the mark of the session that signed in here, and its key, which each act carries. The answer to signing in has both, and no address does. ---

const SESSION = "bitacora-session";
const signedIn = document.getElementById("signed-in");
if (signedIn) {
    localStorage.setItem(SESSION, signedIn.dataset.key);
    location.replace(signedIn.href);
}
const isStrange = Boolean(main?.dataset.session) && localStorage.getItem(SESSION)?.split(".")[0] !== main.dataset.session;
document.getElementById("strange")?.toggleAttribute("hidden", !isStrange);

const isAct = (form) => Boolean(main?.dataset.session) && form.getAttribute("method") === "post";
addEventListener("submit", (event) => {
    if (isStrange && isAct(event.target) && main.contains(event.target)) {
        event.preventDefault();
        document.getElementById("strange").scrollIntoView();
    }
});
addEventListener("formdata", (event) => {
    if (event.target.matches("form.sign-in")) {
        event.formData.set("key", "wanted");
    } else if (isAct(event.target)) {
        event.formData.set("key", localStorage.getItem(SESSION)?.split(".")[1] ?? "none");
    }
});

if (live) {
    addEventListener("visibilitychange", () => document.hidden || refresh());
    follow();
    // Ages are told in words, which go out of date by themselves.
    setInterval(() => Date.now() >= asked + AGES_MS / 2 && document.querySelector("[data-age]") && refresh(), AGES_MS);
}
