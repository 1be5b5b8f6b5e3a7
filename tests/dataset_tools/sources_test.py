import pytest

from object_detection.dataset_tools import sources


@pytest.mark.parametrize("name", [
    "", " ", "/etc/passwd", "../a.jpg", "a/../../b.jpg", "..", "..\\a.jpg", "C:\\a.jpg",
    "\\\\host\\a.jpg", "a\0.jpg"])
def test_names_that_leave_the_folder_are_refused(name):
    with pytest.raises(ValueError, match="unsafe file name"):
        sources.relative_inside(name)


def test_names_inside_are_kept():
    assert sources.relative_inside(" sub/./a..b.jpg ") == "sub/a..b.jpg"
    assert sources.relative_inside("sub\\a.jpg") == "sub/a.jpg"


def test_find_image_tries_suffixes_and_the_stem(tmp_path):
    (tmp_path / "a.png").touch()
    assert sources.find_image(str(tmp_path), "a.png") == str(tmp_path / "a.png")
    assert sources.find_image(str(tmp_path), "a") == str(tmp_path / "a.png")
    assert sources.find_image(str(tmp_path), "old_name.jpg", "a") == str(tmp_path / "a.png")
    with pytest.raises(FileNotFoundError, match="no image 'b.jpg'"):
        sources.find_image(str(tmp_path), "b.jpg", "c")
