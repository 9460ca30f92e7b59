
"use strict";
const [form, field, said, table] = ["form", "#token", "#said", "table"].map((one) => document.querySelector(one));

async function show() {
  const token = sessionStorage.getItem("token");
  table.hidden = true;
  if (!token) return;
  said.textContent = "";
  try {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch("/v1/ledgers", { headers, cache: "no-store", credentials: "omit" });
    const told = await answer.json();
    if (!answer.ok) {
      if (answer.status === 401) sessionStorage.removeItem("token");
      said.textContent = told.detail;
      return;
    }
    table.tBodies[0].replaceChildren();
    for (const { name, state, head } of told.ledgers) {
      const row = table.tBodies[0].insertRow();
      for (const text of [name, state, head?.position ?? "-", head?.hash ?? "-"]) row.insertCell().textContent = text;
    }
    table.hidden = false;
  } catch {
    said.textContent = "The service did not answer. Try again.";
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", field.value.trim());
  field.value = "";
  show();
});
show();
