"""Builds and runs the consumer against the Conan package, as `conan create` does after it made one."""

import pathlib

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class EstocConsumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=str(pathlib.Path(self.source_folder).parent / "consumer"))
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("consumer", "consumer_c"):
                self.run(str(pathlib.Path(self.build_folder) / program), env="conanrun")
