"""The Conan recipe: `conan create .` in a clone makes the package from this folder alone.

What Estoc is built with (scripts/packages.txt) comes from the system: it is compiled in, and users of the
package need none of it.
"""

import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class EstocConan(ConanFile):
    name = "estoc"
    description = "Finds, compiles and runs the fastest GEMM kernel for a problem"
    license = "Apache-2.0"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "CMakeLists.txt", "LICENSE", *(
        f"{folder}/*" for folder in ("cli", "cmake", "device", "emulator", "include", "src")
    )

    def set_version(self):
        text = (pathlib.Path(self.recipe_folder) / "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(estoc VERSION ([0-9.]+)", text).group(1)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"os: expected Linux, got {self.settings.os}")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        for option in ("TESTS", "EXAMPLES"):
            toolchain.cache_variables[f"ESTOC_BUILD_{option}"] = False
        toolchain.cache_variables["ESTOC_BUILD_CLI"] = True
        toolchain.cache_variables["ESTOC_WERROR"] = False
        toolchain.cache_variables["CMAKE_UNITY_BUILD"] = True
        toolchain.cache_variables["CMAKE_UNITY_BUILD_BATCH_SIZE"] = "16"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")

    def package_info(self):
        # Estoc's own CMake package says more than a generated one: estoc::estoc, ::shared, ::command.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/estoc"]
        self.cpp_info.libs = []
        self.cpp_info.bindirs = ["bin"]
