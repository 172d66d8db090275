"use strict";
// Keys: `n` the next page, `/` the first field of the form, `t` the tables.
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, button, select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const found = { n: "[rel=next]", "/": "form input", t: "[rel=up]" }[event.key];
  const element = found && document.querySelector(found);
  if (!element) return;
  event.preventDefault();
  if (element.matches("a")) element.click();
  else element.focus();
});
// Empty fields would only lengthen the address.
for (const form of document.forms)
  form.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
  });
