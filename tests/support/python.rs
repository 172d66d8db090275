//! Python, and environments with packages for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the installed Python.
pub fn command() -> Option<&'static str> {
    ["python3", "python"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    })
}

/// Makes an environment with the packages of a requirements file, unless it is there already, and
/// returns its interpreter. The error says what failed.
pub fn environment(directory: &Path, requirements: &Path) -> Result<PathBuf, String> {
    let interpreter =
        directory.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let installed = directory.join("requirements.txt");
    let wanted = fs::read_to_string(requirements).map_err(|error| error.to_string())?;
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(interpreter);
    }
    let python = command().ok_or("there is no Python")?;
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(directory))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run(Command::new(&interpreter).args(install).arg(requirements))?;
    fs::write(&installed, wanted).map_err(|error| error.to_string())?;
    Ok(interpreter)
}

/// Runs a command to its end. The error is what it wrote.
pub fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{command:?}: {}{}", text(&output.stdout), text(&output.stderr)))
    }
}
