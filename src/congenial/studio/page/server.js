// @ts-check
/** Talks to the studio's server. */

/**
 * What the server says; an error says what happened.
 * @param {string} path @param {object} [body]
 */
export async function ask(path, body) {
  let answer;
  try {
    answer = await fetch(path, body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {});
  } catch {
    throw new Error("The studio does not answer. Is `congenial studio` still running? Try again when it is.");
  }
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error ?? `the studio answered ${answer.status}`);
  return said;
}
